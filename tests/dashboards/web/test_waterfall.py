"""The waterfall's rows."""

from spanlore_collector.store.session_tree import build_tree
from spanlore_collector.store.views import SessionSpans
from spanlore_dashboards.web.waterfall import (
    CHUNK_ROWS,
    SHOWN_ROWS,
    Section,
    overview,
    sections,
    windowed,
    with_heads,
)
from support.session_rows import SECOND_NS, inference_row, tool_row, turn_row

HOUR_NS = 3600 * SECOND_NS


def test_each_turn_has_its_own_scale() -> None:
    """A turn's bars fill its section, however long the session; the first token's time is a part of a call's bar."""
    tree = build_tree(SessionSpans([turn_row()], [inference_row()], [tool_row(end_time_ns=10 * SECOND_NS)]))
    (section,) = sections(tree)
    chat, tool = section.bars

    assert (chat.start, chat.width, chat.wait) == (0.0, 10.0, 5.0)
    assert (tool.start, tool.width, tool.depth) == (10.0, 90.0, 1)
    assert (section.tools, section.failures, section.tokens) == (1, 1, 12_412)


def test_tools_side_by_side_begin_at_the_same_place() -> None:
    """Parallel calls are rows of their own that begin together."""
    tools = [tool_row(f"cc{n}", tool_call_id=f"t{n}") for n in range(3)]
    (section,) = sections(build_tree(SessionSpans([turn_row()], [inference_row()], tools)))

    assert [(bar.start, bar.depth) for bar in section.bars[1:]] == [(10.0, 1)] * 3


def test_a_sub_agent_hangs_below_its_tool() -> None:
    """Its row has the whole of its time, its calls are one deeper, and it counts for the turn."""
    agent = turn_row(
        "aa01",
        parent_span_id="cc00000000000000",
        call_class="subagent",
        conversation="c2",
        start_time_ns=2 * SECOND_NS,
        end_time_ns=4 * SECOND_NS,
    )
    call = inference_row(
        "bb01", parent_span_id="aa01", conversation="c2", start_time_ns=2 * SECOND_NS, end_time_ns=4 * SECOND_NS
    )
    (section,) = sections(build_tree(SessionSpans([turn_row(), agent], [inference_row(), call], [tool_row()])))

    assert [(bar.kind, bar.depth) for bar in section.bars] == [("chat", 0), ("tool", 1), ("turn", 2), ("chat", 3)]
    assert (section.bars[2].start, section.bars[2].width) == (20.0, 20.0)
    assert section.chats == 2


def test_side_calls_stand_together_at_the_end() -> None:
    """Titles and checks belong to no turn."""
    side = inference_row("bb02", parent_span_id="", conversation="c9", call_class="title")
    found = sections(build_tree(SessionSpans([turn_row()], [inference_row(), side], [])))

    assert [section.key for section in found] == ["aa00000000000000", "side"]
    assert [(bar.kind, bar.detail) for bar in found[1].bars] == [("side", "title")]


def test_notes_say_what_is_special() -> None:
    """Memories newly shown, retries, errors; what was withheld or stood there already is none."""
    placements = (
        '[{"kind":"session_block","memory_ids":["m-1","m-2"],"first":true,"state":"shown"},'
        '{"kind":"session_block","memory_ids":["m-3"],"first":true,"state":"withheld"},'
        '{"kind":"failure_hint","memory_ids":["m-4"],"first":false,"state":"shown"}]'
    )
    row = inference_row(injected_placements=placements, attempt=2, error_type="overloaded_error")
    (section,) = sections(build_tree(SessionSpans([turn_row()], [row], [])))

    assert section.bars[0].notes == (
        ("+2 memories", "memory"),
        ("attempt 2", "warn"),
        ("overloaded_error", "failure"),
    )
    assert section.bars[0].outcome == "failure"


def test_overview_cuts_the_waiting_out() -> None:
    """An hour without a call takes hardly any room, and the cut says how long it was."""
    later = turn_row("aa02", turn_index=1, start_time_ns=HOUR_NS, end_time_ns=HOUR_NS + SECOND_NS)
    call = inference_row(
        "bb03", parent_span_id="aa02", step_index=1, start_time_ns=HOUR_NS, end_time_ns=HOUR_NS + SECOND_NS
    )
    found = overview(build_tree(SessionSpans([turn_row(), later], [inference_row(), call], [])))

    assert found.active_ns == 2 * SECOND_NS
    assert [gap for _, gap in found.cuts] == [HOUR_NS - SECOND_NS]
    assert [stroke.lane for stroke in found.strokes] == ["chat", "chat"]
    assert found.strokes[1].start + found.strokes[1].width > 99.9


def test_strokes_are_as_many_as_can_be_seen() -> None:
    """Ten thousand calls of a moment each are no more strokes than the strip has places."""
    calls = [
        inference_row(f"b{n}", step_index=n, start_time_ns=n * SECOND_NS, end_time_ns=n * SECOND_NS + 1000)
        for n in range(10_000)
    ]
    found = overview(build_tree(SessionSpans([turn_row(end_time_ns=10_000 * SECOND_NS)], calls, [])))

    assert 100 < len(found.strokes) < 1_000


def test_a_failure_among_thousands_of_calls_is_seen() -> None:
    """It is drawn after what would cover it, and wide enough."""
    calls = [
        tool_row(f"c{n}", start_time_ns=n * SECOND_NS, end_time_ns=n * SECOND_NS + 1000, outcome=outcome)
        for n, outcome in enumerate(["success"] * 10 + ["failure"] + ["success"] * 3_000)
    ]
    turn = turn_row(end_time_ns=3_100 * SECOND_NS)
    found = overview(build_tree(SessionSpans([turn], [inference_row()], calls)))

    assert [stroke.lane for stroke in found.strokes].count("failure") == 1
    assert found.strokes[-1].lane == "failure"
    assert found.strokes[-1].width >= 0.3


def test_the_summary_changes_with_what_is_in_it() -> None:
    """A script exchanges a turn only when its summary is another one."""

    def summary(*tools: dict[str, object]) -> str:
        return sections(build_tree(SessionSpans([turn_row()], [inference_row()], list(tools))))[0].summary

    assert summary() == summary()
    assert len({summary(), summary(tool_row()), summary(tool_row(outcome="success"))}) == 3


def long_session(rows: int = 1_000) -> list[Section]:
    """Two turns of so many model calls each."""
    turns = [turn_row(f"a{n}", turn_index=n, start_time_ns=n, end_time_ns=n + 1) for n in range(2)]
    calls = [
        inference_row(f"b{n}-{m}", parent_span_id=f"a{n}", step_index=m, start_time_ns=m, end_time_ns=m + 1)
        for n in range(2)
        for m in range(rows)
    ]
    return sections(build_tree(SessionSpans(turns, calls, [])))


def drawn(found: list[Section]) -> list[tuple[str, int]]:
    return [(chunk.turn, chunk.first) for section in found for chunk in section.chunks if chunk.is_drawn]


def test_a_long_session_is_drawn_in_parts() -> None:
    """The first rows, the ones around the span that is asked for, and of a running session the newest."""
    found = long_session()
    first = [("a0", low) for low in range(0, SHOWN_ROWS, CHUNK_ROWS)]

    assert drawn(windowed(found)) == first
    assert drawn(windowed(found, "b1-555")) == [*first, ("a1", 500)]
    assert drawn(windowed(found, is_live=True)) == [*first, ("a1", 900)]
    assert len(drawn(windowed(found, is_whole=True))) == 20
    rows = [bar for section in windowed(found) for chunk in section.chunks for bar in chunk.bars]
    assert rows == [bar for section in found for bar in section.bars]


def test_a_part_tells_when_it_changes() -> None:
    """Only where a row or the turn's scale is another one."""
    before, after = windowed(long_session(150))[0].chunks, windowed(long_session(151))[0].chunks
    same = windowed(long_session(150))[0].chunks

    assert [chunk.summary for chunk in before] == [chunk.summary for chunk in same]
    assert before[1].summary != after[1].summary


def test_rows_say_what_was_said() -> None:
    """A tool keeps its command; a model call says its answer's beginning."""
    tree = build_tree(SessionSpans([turn_row()], [inference_row()], [tool_row(), tool_row("cc01", command="")]))
    (chunk,) = windowed(sections(tree))[0].chunks
    command = chunk.bars[1].detail
    told = with_heads(chunk, {bar.span_id: f"said\n{n}" for n, bar in enumerate(chunk.bars)})

    assert [bar.detail for bar in told.bars] == ["said 0", command, "said 2"]
    assert command
