"""What this process knows to be in the store, so that nothing is inserted twice.

A span is in the store when its row is in `otel_traces`, which is inserted last. For a trace that is known here, the set
of its spans is complete; for any other the store is asked once. A *suspect* is a span whose typed rows may be there
although its `otel_traces` row is not: the process died, or an insert failed, between two tables.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

type SpanKey = tuple[str, str]
"""(trace id, span id), hex."""

MAX_SPANS = 100_000
MAX_HASHES = 100_000


class KnownSpans:
    """Span ids by trace, the least recently used traces forgotten first."""

    def __init__(self, max_spans: int = MAX_SPANS) -> None:
        self._max_spans = max_spans
        self._traces: OrderedDict[str, set[str]] = OrderedDict()
        self._size = 0
        self.suspects: set[SpanKey] = set()

    def unknown_traces(self, keys: Iterable[SpanKey]) -> list[str]:
        """Traces about which the store has to be asked; the others are marked as used."""
        unknown: dict[str, None] = {}
        for trace_id, _ in keys:
            if trace_id in self._traces:
                self._traces.move_to_end(trace_id)
            else:
                unknown[trace_id] = None
        return list(unknown)

    def learn(self, trace_id: str, span_ids: Iterable[str]) -> None:
        """The store holds exactly these spans of a trace."""
        if trace_id not in self._traces:
            self._traces[trace_id] = set(span_ids)
            self._size += len(self._traces[trace_id]) + 1

    def __contains__(self, key: SpanKey) -> bool:
        return key[1] in self._traces.get(key[0], ())

    def stored(self, keys: Iterable[SpanKey]) -> None:
        """These spans are completely in the store now."""
        for trace_id, span_id in keys:
            self.suspects.discard((trace_id, span_id))
            spans = self._traces.get(trace_id)
            if spans is not None and span_id not in spans:
                spans.add(span_id)
                self._size += 1
        while self._size > self._max_spans and len(self._traces) > 1:
            _, spans = self._traces.popitem(last=False)
            self._size -= len(spans) + 1


class KnownHashes:
    """Content hashes that are in the store, the least recently used forgotten first."""

    def __init__(self, max_hashes: int = MAX_HASHES) -> None:
        self.max_hashes = max_hashes
        self._hashes: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, address: str) -> bool:
        if address not in self._hashes:
            return False
        self._hashes.move_to_end(address)
        return True

    def __len__(self) -> int:
        return len(self._hashes)

    def stored(self, addresses: Iterable[str]) -> None:
        """These are in the store now."""
        for address in addresses:
            self._hashes[address] = None
        while len(self._hashes) > self.max_hashes:
            self._hashes.popitem(last=False)
