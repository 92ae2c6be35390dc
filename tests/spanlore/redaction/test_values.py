"""Secrets in JSON values."""

from __future__ import annotations

from typing import Any

import pytest

from spanlore.redaction.redact import Redactor
from spanlore.redaction.values import redact_value

ALNUM = "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9fG"
REDACTOR = Redactor()


def real(text: str) -> tuple[str, int]:
    done = REDACTOR.redact(text)
    return done.text, done.count


@pytest.mark.parametrize(
    ("value", "clean"),
    [
        ({"password": "Tr0ub4dor&3"}, {"password": "[redacted:password]"}),
        ({"a": [{"apiKey": ALNUM[:32]}]}, {"a": [{"apiKey": "[redacted:api_key]"}]}),
        ({"X-Api-Key": ALNUM[:32]}, {"X-Api-Key": "[redacted:api_key]"}),
        ({"passwords": ["x"], "password": ["hunter22"]}, {"passwords": ["x"], "password": ["[redacted:password]"]}),
        ({"Cookie": "sid=" + ALNUM}, {"Cookie": "[redacted:cookie]"}),
        ({"auth": "Ym9iOlRyMHViNGRvcg=="}, {"auth": "[redacted:basic_auth]"}),
        ({"name": "DB_PASSWORD", "value": "opensesame"}, {"name": "DB_PASSWORD", "value": "[redacted:password]"}),
        ({"key": "API_TOKEN", "value": "tok_99887766ab"}, {"key": "API_TOKEN", "value": "[redacted:token]"}),
        ({"ghp_" + ALNUM[:36]: 1}, {"[redacted:github_token]": 1}),
    ],
)
def test_names_tell_secrets(value: Any, clean: Any) -> None:
    """A member's name, a name beside the value, and a name that is a secret itself."""
    assert redact_value(value, real) == (clean, 1)
    assert redact_value(clean, real) == (clean, 0)


@pytest.mark.parametrize(
    "value",
    [
        {"password": {"type": "string", "description": "The password."}, "required": ["password"]},
        {"token": "Enter your token", "max_tokens": 4096, "secret": True, "key": None},
        {"file_path": "/srv/app/password.py", "author": "Ada Lovelace", "keywords": ["one", "two3"]},
        {"name": "PORT", "value": "8080"},
        {"key": "value", "sort_key": "created_at"},
    ],
)
def test_everyday_values_stay(value: Any) -> None:
    """Schemas, flags, counts and paths are no secrets, and a value keeps its shape."""
    assert redact_value(value, real) == (value, 0)


def test_values_keep_their_shape() -> None:
    """Keys, numbers and nesting of a JSON value stay; tuples become lists."""

    def gone(text: str) -> tuple[str, int]:
        return text.replace("hunter2", "[gone]"), text.count("hunter2")

    assert redact_value({"a": (1, "hunter2", {"b": None})}, gone) == ({"a": [1, "[gone]", {"b": None}]}, 1)
