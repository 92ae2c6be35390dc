"""Two spellings of one field."""

from __future__ import annotations

from spanlore_proxy.wire.gemini.fields import camel, field, list_field, object_field, snake, string_field


def test_either_spelling() -> None:
    """Camel case wins where both are there; no object has no fields."""
    assert field({"function_call": 1}, "functionCall") == field({"functionCall": 1, "function_call": 2}, "functionCall")
    assert field(None, "functionCall") is None


def test_types() -> None:
    """A field of a wrong type is empty; a single value is a list of one."""
    assert (object_field({"a": 1}, "a"), string_field({"a": 1}, "a")) == ({}, "")
    assert (list_field({"a": 1}, "a"), list_field({}, "a")) == ([1], [])


def test_names() -> None:
    """There and back."""
    assert snake("thoughtSignature") == "thought_signature"
    assert camel("thought_signature") == camel("thoughtSignature") == "thoughtSignature"
