"""The API's description."""

from typing import Literal

import jsonschema  # type: ignore[import-untyped]
from pydantic import BaseModel, Field

from spanlore_dashboards.web.openapi import Operation, document

type Colour = Literal["red", "blue"]


class Asked(BaseModel):
    """A query."""

    colour: Colour = Field("red", description="Which")
    limit: int = Field(3, ge=1)


class Sent(BaseModel):
    """A body."""

    text: str


class Told(BaseModel):
    """An answer."""

    count: int


def described() -> dict[str, object]:
    read = Operation("GET", "/things", "listThings", "All", Told, query=Asked)
    write = Operation("POST", "/things/{id}", "change", "One", Told, body=Sent)
    return document([read, write], "1.2.3")


def test_parameters_are_in_place() -> None:
    """Types, bounds, defaults and what they mean."""
    paths = described()["paths"]
    assert isinstance(paths, dict)
    colour, limit = paths["/things"]["get"]["parameters"]

    assert colour["schema"] == {"enum": ["red", "blue"], "type": "string", "default": "red"}
    assert colour["description"] == "Which"
    assert limit["schema"]["minimum"] == 1
    assert paths["/things/{id}"]["post"]["parameters"][0]["in"] == "path"


def test_every_fault_is_described() -> None:
    """What a route may fail with depends on what it takes."""
    paths = described()["paths"]
    assert isinstance(paths, dict)

    assert set(paths["/things"]["get"]["responses"]) == {"200", "400", "401", "503"}
    assert {"404", "409", "413", "415"} <= set(paths["/things/{id}"]["post"]["responses"])


def test_it_is_a_document_of_its_version() -> None:
    """All references lead somewhere, and the schemas are schemas."""
    found = described()
    components = found["components"]
    assert isinstance(components, dict)

    assert found["openapi"] == "3.1.0"
    assert {"Told", "Sent", "Problem"} <= set(components["schemas"])
    for schema in components["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
