"""WireResponse."""

from __future__ import annotations

from spanlore_proxy.wire.response import WireResponse


def test_a_response_starts_out_empty_and_whole() -> None:
    """Nothing is claimed that was not seen."""
    response = WireResponse()

    assert (response.output, response.error, response.is_complete, response.raw_output) == ((), None, True, None)
