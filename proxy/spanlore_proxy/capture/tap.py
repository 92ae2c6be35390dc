"""The copy that is taken of a response while it streams through.

mitmproxy calls the tap with every chunk and forwards what it returns: the very same object. Nothing is parsed here.
The end of a stream is told by an empty chunk, after the last one has been forwarded; of a body whose length was told it
is known with the last chunk, before the client has it. It never comes when either side resets the stream; who owns the
tap must not wait for it (Codex cancels its stream as soon as it has read `response.completed`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

MAX_COPY_BYTES: Final = 64 * 1024**2
"""Of one response; what comes on top is forwarded but not kept."""


class ResponseTap:
    """Given to `flow.response.stream`."""

    __slots__ = (
        "_chunks",
        "_clock_ns",
        "_length",
        "_on_end",
        "first_chunk_time_ns",
        "last_chunk_time_ns",
        "size_bytes",
    )

    def __init__(self, clock_ns: Callable[[], int], on_end: Callable[[], None], length: int = 0) -> None:
        """`on_end` is called at the end of the body, and at its last byte too where the `length` was told (0: it was
        not); it must not raise."""
        self._clock_ns = clock_ns
        self._on_end = on_end
        self._length = length
        self._chunks: list[bytes] = []
        self.size_bytes = 0
        """Body bytes seen, kept or not; still content-encoded."""
        self.first_chunk_time_ns: int | None = None
        self.last_chunk_time_ns: int | None = None

    def __call__(self, chunk: bytes) -> bytes:
        if not chunk:
            self._on_end()
            return chunk
        now_ns = self._clock_ns()
        if self.first_chunk_time_ns is None:
            self.first_chunk_time_ns = now_ns
        self.last_chunk_time_ns = now_ns
        self.size_bytes += len(chunk)
        if self.size_bytes <= MAX_COPY_BYTES:
            self._chunks.append(chunk)
        if self.size_bytes == self._length:
            self._on_end()
        return chunk

    @property
    def is_whole(self) -> bool:
        """Whether everything seen was kept."""
        return self.size_bytes <= MAX_COPY_BYTES

    @property
    def kept_bytes(self) -> int:
        """Of what was kept."""
        return sum(map(len, self._chunks))

    def body(self) -> bytes:
        """What was kept."""
        return b"".join(self._chunks)

    def with_body(self, body: bytes) -> ResponseTap:
        """One that saw the same and keeps this instead."""
        return ResponseTap.restored(body, self.size_bytes, (self.first_chunk_time_ns, self.last_chunk_time_ns))

    @classmethod
    def restored(cls, body: bytes, size_bytes: int, times_ns: tuple[int | None, int | None]) -> ResponseTap:
        """One through which all has gone: what was kept, the bytes seen, and when the first and last chunk came."""
        tap = cls(time.time_ns, lambda: None)
        tap.size_bytes, tap._chunks = size_bytes, [body]
        tap.first_chunk_time_ns, tap.last_chunk_time_ns = times_ns
        return tap
