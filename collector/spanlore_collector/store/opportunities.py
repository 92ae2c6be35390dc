"""An inference's row → the opportunities of its request: what could have been shown anew, and what became of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from spanlore_collector.store.tables import InferenceRow, OpportunityRow

NOWHERE = -2
BYTES_PER_TOKEN = 4
_MAX_ORDINAL = 65_535
_MAX_UINT32 = 2**32 - 1


def opportunities_of(row: InferenceRow) -> tuple[OpportunityRow, ...]:
    """One row for each memory of each placement that is new in this request, was withheld or was skipped.

    What the attribute holds beside that, or in another shape, is left out: any OTLP sender may have written it.
    """
    if not row.injected_placements:
        return ()
    try:
        placements = orjson.loads(row.injected_placements)
    except orjson.JSONDecodeError:
        return ()
    items = [item for item in placements if isinstance(item, dict)] if isinstance(placements, list) else []
    found = (one for item in items for one in _memories(item))
    return tuple(
        OpportunityRow(
            session_id=row.session_id,
            conversation=row.conversation,
            trace_id=row.trace_id,
            span_id=row.span_id,
            time=row.start_time,
            ordinal=min(ordinal, _MAX_ORDINAL),
            memory_id=memory_id,
            kind=_word(item, "kind"),
            state=_word(item, "state"),
            reason=_word(item, "reason"),
            anchor=_word(item, "anchor"),
            position=_position(item),
            bytes=size,
            tokens=-(-size // BYTES_PER_TOKEN),
            turn_index=row.turn_index,
            step_index=row.step_index,
            harness=row.harness,
            repository=row.repository,
            sub_path=row.sub_path,
            branch=row.branch,
            model=row.request_model,
            source=row.source,
            call_class=row.call_class,
            ingested_at=row.ingested_at,
        )
        for ordinal, (item, memory_id, size) in enumerate(found)
    )


def _memories(item: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str, int]]:
    """(the placement, a memory's id, the bytes of its line)."""
    if item.get("state") == "shown" and item.get("first") is not True:
        return
    ids, sizes = item.get("memory_ids"), item.get("sizes")
    if not isinstance(ids, list):
        return
    known = sizes if isinstance(sizes, list) and len(sizes) == len(ids) else [0] * len(ids)
    for memory_id, size in zip(ids, known, strict=True):
        if isinstance(memory_id, str):
            yield item, memory_id, min(max(size, 0), _MAX_UINT32) if isinstance(size, int) else 0


def _position(item: dict[str, Any]) -> int:
    value = item.get("position")
    return value if isinstance(value, int) and -1 <= value < 2**31 else NOWHERE


def _word(item: dict[str, Any], key: str) -> str:
    value = item.get(key)
    return value if isinstance(value, str) else ""
