"""The API's OpenAPI 3.1 document, made from the routes and their models. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from spanlore_dashboards.web.answers import Problem

_FAULTS: Final = {
    400: "A parameter or the body makes no sense",
    401: "There is no token, or it is wrong",
    404: "There is no such thing",
    409: "It was changed meanwhile, or that can't be done to it",
    413: "The body is too large",
    415: "The body is not JSON",
    503: "The daemon is away; try again",
}


@dataclass(frozen=True, slots=True)
class Operation:
    """One route of the API as it is described."""

    method: str
    path: str
    name: str
    summary: str
    answer: type[BaseModel]
    query: type[BaseModel] | None = None
    body: type[BaseModel] | None = None

    @property
    def parameters(self) -> list[str]:
        """Names in the path."""
        return re.findall(r"{(\w+)}", self.path)

    @property
    def faults(self) -> list[int]:
        """Statuses it may fail with."""
        found = [401, 503]
        if self.query or self.body or self.parameters:
            found.append(400)
        if self.parameters:
            found.append(404)
        if self.body:
            found += [409, 413, 415]
        return sorted(found)


def document(operations: Iterable[Operation], version: str) -> dict[str, Any]:
    """The whole document."""
    listed = list(operations)
    models: list[tuple[type[BaseModel], Any]] = [(Problem, "serialization")]
    models += [(operation.answer, "serialization") for operation in listed]
    models += [(operation.body, "validation") for operation in listed if operation.body]
    references, schemas = models_json_schema(models, ref_template="#/components/schemas/{model}")
    paths: dict[str, dict[str, Any]] = {}
    for operation in listed:
        described = _operation(operation, references)
        paths.setdefault(operation.path, {})[operation.method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "spanlore",
            "version": version,
            "summary": "Sessions of coding agents, what was learned from them, what they cost.",
            "description": "Times are integer nanoseconds since the epoch, money is US dollars. Null is not known.",
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The token of the installation: `token` in its state directory.",
                }
            },
        },
    }


def _operation(operation: Operation, references: Any) -> dict[str, Any]:
    problem = {"application/json": {"schema": references[Problem, "serialization"]}}
    answers: dict[str, Any] = {
        "200": {
            "description": operation.answer.__doc__ or "",
            "content": {"application/json": {"schema": references[operation.answer, "serialization"]}},
        }
    }
    answers |= {str(status): {"description": _FAULTS[status], "content": problem} for status in operation.faults}
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": [*map(_in_path, operation.parameters), *_in_query(operation.query)],
        "responses": answers,
    }
    if operation.body is not None:
        content = {"application/json": {"schema": references[operation.body, "validation"]}}
        described["requestBody"] = {"required": True, "content": content}
    return described


def _in_path(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}


def _in_query(model: type[BaseModel] | None) -> list[dict[str, Any]]:
    if model is None:
        return []
    schema = model.model_json_schema()
    definitions = schema.get("$defs", {})
    return [
        {
            "name": name,
            "in": "query",
            "required": name in schema.get("required", ()),
            "description": field.get("description", ""),
            "schema": _inline({k: v for k, v in field.items() if k not in ("description", "title")}, definitions),
        }
        for name, field in schema["properties"].items()
    ]


def _inline(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """A named type of a parameter, in place."""
    if "$ref" in schema:
        return {**definitions[schema["$ref"].rpartition("/")[2]], **{k: v for k, v in schema.items() if k != "$ref"}}
    return schema
