"""A session to read."""

from spanlore_collector.store.reader import Reader
from spanlore_collector.store.session_tree import TurnNode, build_tree
from spanlore_collector.store.views import SessionSpans
from spanlore_dashboards.web.conversation import (
    CHUNK_SPANS,
    SHOWN_SPANS,
    TURNS_A_PAGE,
    Call,
    Step,
    TalkPage,
    chunked,
    read_chunk,
    read_talk,
    span_ids,
)
from spanlore_dashboards.web.one_session import Part, read_session
from support.session_rows import inference_row, tool_row, turn_row
from support.web_story import SESSION


def steps_of(page: TalkPage) -> list[Step]:
    """Of the first turn, as far as they are drawn."""
    return [step for chunk in page.turns[0].chunks if chunk.spoken for step in chunk.spoken.steps]


def test_a_turn_is_told_in_order(reader: Reader) -> None:
    """What the user said, what was injected, what the model said, and each call with its own output."""
    session = read_session(reader, SESSION)
    assert session is not None
    page = read_talk(reader, SESSION, session.turns, 0)
    steps = steps_of(page)
    first = steps[0]

    assert (page.first, page.total) == (0, 2)
    assert [part.text.splitlines()[0] for part in first.said] == [
        "The shelf test is flaky. Find out why and put it right."
    ]
    assert [part.type for part in first.answered] == ["reasoning", "text"]
    assert [item.state for item in first.placed] == ["shown", "withheld"]
    assert [call.row["tool_name"] for call in first.calls] == ["Read", "Bash", "Task"]
    assert first.calls[1].result is not None
    assert first.calls[1].result.text == "a1b2c3 Shelf\n"
    # A result stands with its call, not a second time with the request that carried it.
    assert steps[1].said == ()


def test_a_sub_agent_talks_below_its_call(reader: Reader) -> None:
    """Its prompt and its steps."""
    session = read_session(reader, SESSION)
    assert session is not None
    call = steps_of(read_talk(reader, SESSION, session.turns, 0))[0].calls[2]

    assert [part.text for part in call.turns[0].steps[0].said] == ["Who calls Shelf.items?"]
    assert call.turns[0].steps[1].answered[0].text == "Three callers: a, b and the report."


def test_an_edit_is_a_difference(reader: Reader) -> None:
    """Of a tool that replaces text, lines out and lines in; of any other, nothing."""
    session = read_session(reader, SESSION)
    assert session is not None
    calls = [call for step in steps_of(read_talk(reader, SESSION, session.turns, 0)) for call in step.calls]

    assert [call.edits for call in calls if call.edits] == [
        [("-", "return items"), ("+", "return sorted(items)")],
    ]


def test_arguments_that_are_no_json() -> None:
    """Whatever a model wrote there is shown as it is."""
    for text in ("{", "[1]", '{"old_string": 1, "new_string": "x"}'):
        part = Part("arguments", "assistant", "arguments", "Edit", "t", "h", 1, text)

        assert Call(tool_row(), part, None, ()).edits == []


def test_pages_of_turns(reader: Reader) -> None:
    """A page has so many turns and says how many there are."""
    turns = build_tree(
        SessionSpans([turn_row(f"a{n}", turn_index=n, start_time_ns=n, end_time_ns=n + 1) for n in range(50)], [], [])
    )
    page = read_talk(reader, "none", turns, TURNS_A_PAGE)

    assert (len(page.turns), page.first, page.total) == (TURNS_A_PAGE, TURNS_A_PAGE, 50)


def test_spans_of_turns() -> None:
    """Model calls and tools, those of sub-agents too."""
    agent = turn_row("aa01", parent_span_id="cc00000000000000", conversation="c2")
    call = inference_row("bb01", parent_span_id="aa01", conversation="c2")
    tree = build_tree(SessionSpans([turn_row(), agent], [inference_row(), call], [tool_row()]))

    assert set(span_ids(tree)) == {"bb00000000000000", "cc00000000000000", "bb01"}


def long_turn() -> TurnNode:
    """300 model calls, each with a tool; every tenth tool fails."""
    calls = [inference_row(f"b{n:03}", step_index=n, start_time_ns=n, end_time_ns=n + 1) for n in range(300)]
    tools = [
        tool_row(f"c{n:03}", tool_call_id=f"t{n}", step_index=n, outcome="success" if n % 10 else "failure")
        for n in range(300)
    ]
    (turn,) = build_tree(SessionSpans([turn_row()], calls, tools))
    return turn


def test_a_long_turn_is_drawn_in_parts(reader: Reader) -> None:
    """The first parts, and that with the span that is asked for; the others say what is in them."""
    turn = long_turn()
    chunks = read_talk(reader, "none", [turn], 0, "c250").turns[0].chunks
    drawn = [chunk.number for chunk in chunks if chunk.spoken]

    assert sum(chunk.steps for chunk in chunks) == 300
    assert len(drawn) == SHOWN_SPANS // CHUNK_SPANS + 1
    assert drawn[:-1] == list(range(len(drawn) - 1))
    assert "c250" in span_ids([chunked(turn)[drawn[-1]]])
    assert sum(chunk.failures for chunk in chunks) == 30
    assert all(chunk.spoken for chunk in read_talk(reader, "none", [turn], 0, is_whole=True).turns[0].chunks)


def test_parts_are_had_one_by_one(reader: Reader) -> None:
    """Put together they are the turn; there is none before the first or behind the last."""
    turn = long_turn()
    count = len(chunked(turn))
    parts = [read_chunk(reader, "none", turn, number) for number in range(count)]

    steps = [step.row["span_id"] for part in parts if part and part.spoken for step in part.spoken.steps]
    assert steps == [chat.row["span_id"] for chat in turn.chats]
    assert read_chunk(reader, "none", turn, count) is read_chunk(reader, "none", turn, -1) is None
