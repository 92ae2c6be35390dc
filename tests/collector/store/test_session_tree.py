import json

from spanlore_collector.store.session_tree import build_tree, placements, tree_to_json
from spanlore_collector.store.views import SessionSpans
from support.session_rows import inference_row, tool_row, turn_row


def test_tools_hang_under_the_inference_that_asked() -> None:
    """Turn → chat → tool, by conversation and step."""
    chats = [inference_row(), inference_row("bb01", step_index=1)]
    (turn,) = build_tree(SessionSpans([turn_row()], chats, [tool_row(), tool_row("cc01", step_index=1)]))

    assert [[tool.row["span_id"] for tool in chat.tools] for chat in turn.chats] == [["cc00000000000000"], ["cc01"]]


def test_turn_that_goes_on_is_put_together() -> None:
    """A turn without a row of its own is known from the inferences that name it."""
    (turn,) = build_tree(SessionSpans([], [inference_row()], []))

    assert turn.row["end"] == "open"
    assert len(turn.chats) == 1


def test_side_calls_stand_together_beside_the_turns() -> None:
    """Calls without a turn of their own are one node for each conversation, and no turn that goes on."""
    sides = [inference_row(f"b{n}", parent_span_id="", conversation=f"s{n % 2}", call_class="side") for n in range(4)]
    turn, *beside = build_tree(SessionSpans([turn_row()], [inference_row(), *sides], []))

    assert turn.row["end"] == "completed"
    assert [(node.row["end"], len(node.chats)) for node in beside] == [("none", 2), ("none", 2)]


def test_subagents_turn_hangs_under_its_tool_call() -> None:
    """A turn whose parent is a tool span is not at the top."""
    inner = turn_row("aa01", parent_span_id="cc00000000000000", conversation="c2", call_class="subagent")
    chat = inference_row("bb01", parent_span_id="aa01", conversation="c2")
    (turn,) = build_tree(SessionSpans([turn_row(), inner], [inference_row(), chat], [tool_row()]))

    assert [node.row["span_id"] for node in turn.chats[0].tools[0].turns] == ["aa01"]


def test_tool_without_its_inference_stays_with_the_turn() -> None:
    """A call that was asked for before capture began is still shown."""
    (turn,) = build_tree(SessionSpans([turn_row()], [inference_row()], [tool_row(step_index=7)]))

    assert [tool.row["span_id"] for tool in turn.tools] == ["cc00000000000000"]


def test_answered_attempt_gets_the_tools() -> None:
    """Of a failed attempt and its retry, the later one asked for the tools."""
    chats = [inference_row(error_type="overloaded_error"), inference_row("bb01", attempt=2)]
    (turn,) = build_tree(SessionSpans([turn_row()], chats, [tool_row()]))

    assert [len(chat.tools) for chat in turn.chats] == [0, 1]


def test_placements_are_read_and_bad_ones_are_none() -> None:
    """The JSON of the span becomes placements; what is no JSON is no placement."""
    item = {"kind": "session_block", "anchor": "system", "memory_ids": ["m-1"], "bytes": 9, "first": True}
    (placement,) = placements({"injected_placements": json.dumps([item])})

    assert (placement.kind, placement.memory_ids, placement.bytes, placement.is_first) == (
        "session_block",
        ("m-1",),
        9,
        True,
    )
    assert placements({"injected_placements": "["}) == ()


def test_tree_as_json() -> None:
    """For scripts the tree is nested objects of the rows."""
    tree = tree_to_json(build_tree(SessionSpans([turn_row()], [inference_row()], [tool_row()])))

    assert tree[0]["chats"][0]["tools"][0]["exit_code"] == 1
