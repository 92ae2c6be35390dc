"""Trailers are read and left out; the body's data and end come as they are."""

from __future__ import annotations

from typing import Any

import h11
from h11._receivebuffer import ReceiveBuffer
from mitmproxy.proxy.layers.http import _http1

from spanlore_proxy.capture.trailers import WithoutTrailers, leave_out_trailers


def test_the_end_of_a_chunked_body_has_no_trailers() -> None:
    """And what stands behind it is left in the buffer."""
    leave_out_trailers()
    leave_out_trailers()
    reader: Any = _http1.make_body_reader(None)
    buffer = ReceiveBuffer()
    buffer += b"2\r\nhi\r\n0\r\nx-sum: 1\r\n\r\nGET"
    data, end = reader(buffer), reader(buffer)

    assert isinstance(reader, WithoutTrailers) and not isinstance(reader._reader, WithoutTrailers)
    assert (type(data), bytes(data.data)) == (h11.Data, b"hi")
    assert (type(end), list(end.headers), bytes(buffer)) == (h11.EndOfMessage, [], b"GET")


def test_a_body_by_its_length_is_read_as_ever() -> None:
    """Its data, its end, and nothing while nothing has come; a connection that ends too early is an error."""
    leave_out_trailers()
    reader: Any = _http1.make_body_reader(2)
    buffer = ReceiveBuffer()

    assert reader(buffer) is None
    buffer += b"hi"
    assert bytes(reader(buffer).data) == b"hi"
    assert isinstance(reader(buffer), h11.EndOfMessage)
