"""What could have been shown, as rows."""

from typing import Any

import orjson
import pytest

from spanlore.semconv import gen_ai, lore
from spanlore.spans.record import SpanKind, SpanRecord
from spanlore_collector.store.rows import rows_of
from spanlore_collector.store.tables import OpportunityRow


def rows_for(placements: Any, **attributes: Any) -> tuple[OpportunityRow, ...]:
    """The opportunities of a chat span with these placements."""
    text = placements if isinstance(placements, str) else orjson.dumps(placements).decode()
    record = SpanRecord(
        trace_id=b"t" * 16,
        span_id=b"s" * 8,
        parent_span_id=None,
        name="chat m",
        kind=SpanKind.CLIENT,
        start_time_ns=5,
        end_time_ns=9,
        attributes={
            gen_ai.OPERATION_NAME: "chat",
            gen_ai.REQUEST_MODEL: "m",
            lore.SESSION_ID: "session",
            lore.REPOSITORY: "github.com/acme/shop",
            lore.INJECTED_PLACEMENTS: text,
            **attributes,
        },
        resource={},
    )
    return rows_of(record, 1).opportunities


def test_each_memory_of_a_new_placement_is_a_row() -> None:
    """With its own bytes and tokens, where it stands, and whose session it is."""
    shown = {
        "kind": "session_block", "state": "shown", "anchor": "system", "memory_ids": ["m-a", "m-b"], "bytes": 300,
        "first": True, "position": -1, "sizes": [101, 60],
    }  # fmt: skip
    first, second = rows_for([shown])

    assert (first.memory_id, first.bytes, first.tokens, first.position) == ("m-a", 101, 26, -1)
    assert (second.memory_id, second.bytes, second.ordinal) == ("m-b", 60, 1)
    assert (first.session_id, first.repository, first.model, first.time) == ("session", "github.com/acme/shop", "m", 5)


def test_a_replay_is_no_opportunity_and_what_was_not_shown_is_one() -> None:
    """Withheld and skipped stand with their reason, nowhere and without bytes."""
    item = {"kind": "failure_hint", "anchor": "toolu_1", "memory_ids": ["m-a"], "bytes": 0}
    rows = rows_for(
        [
            {**item, "state": "shown", "first": False},
            {**item, "state": "withheld", "first": True},
            {**item, "state": "skipped", "first": False, "reason": "said"},
        ]
    )

    assert [(row.state, row.reason, row.bytes, row.position) for row in rows] == [
        ("withheld", "", 0, -2),
        ("skipped", "said", 0, -2),
    ]


@pytest.mark.parametrize(
    "placements",
    [
        "",
        "{",
        "3",
        "null",
        [3, None],
        [{}],
        [{"memory_ids": 3}],
        [{"memory_ids": [3], "first": True, "state": "shown"}],
    ],
)
def test_what_another_sender_wrote_there_costs_nothing(placements: Any) -> None:
    """No rows, and no error."""
    assert rows_for(placements) == ()


def test_sizes_that_are_none_are_zero() -> None:
    """A wrong number of sizes, or wrong ones, are not believed."""
    item = {"kind": "x", "state": "shown", "first": True, "memory_ids": ["m-a"]}
    rows = rows_for([{**item, "sizes": [1, 2]}, {**item, "sizes": ["x"]}, {**item, "sizes": [-5]}])

    assert [row.bytes for row in rows] == [0, 0, 0]
