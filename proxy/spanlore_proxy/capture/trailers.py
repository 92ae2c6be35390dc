"""Trailers behind a chunked HTTP/1 body are left out.

mitmproxy 12 raises at them (`_http1`: "HTTP trailers are not implemented yet"), and the exchange hangs. An intermediary
may discard them (RFC 9110 §6.5.1); the body's bytes are what counts.
"""

from __future__ import annotations

from typing import Any

import h11
from mitmproxy.proxy.layers.http import _http1


class WithoutTrailers:
    """One of h11's readers of a body, whose end says nothing but that it is one."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader

    def __call__(self, buffer: Any) -> Any:
        """The next event, None where there is none yet."""
        event = self._reader(buffer)
        return h11.EndOfMessage() if isinstance(event, h11.EndOfMessage) else event

    def read_eof(self) -> Any:
        """The event that the end of the connection is."""
        return self._reader.read_eof()


def leave_out_trailers() -> None:
    """From here on, in this process; twice is once."""
    make = _http1.make_body_reader
    if not getattr(make, "leaves_out_trailers", False):

        def without(expected_size: int | None) -> Any:
            return WithoutTrailers(make(expected_size)) if expected_size is None else make(expected_size)

        without.leaves_out_trailers = True  # type: ignore[attr-defined]  # known again by it
        _http1.make_body_reader = without
