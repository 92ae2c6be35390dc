"""WireRequest."""

from __future__ import annotations

import dataclasses

import pytest

from spanlore.genai.inference import Dialect
from spanlore_proxy.wire.request import MalformedRequestError, WireRequest


def test_a_request_cannot_be_changed() -> None:
    """A parsed request is a value; what is wrong with a body is a ValueError."""
    request = WireRequest(Dialect.ANTHROPIC_MESSAGES, {}, "m", False)

    with pytest.raises(dataclasses.FrozenInstanceError):
        request.model = "other"  # type: ignore[misc]  # that is the point
    assert issubclass(MalformedRequestError, ValueError)
    assert request.raw_messages == []
