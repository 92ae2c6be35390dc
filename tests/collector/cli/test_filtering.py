"""A session's tree with only what is asked for."""

from spanlore_collector.cli.filtering import Filter, filtered
from spanlore_collector.store.session_tree import ToolNode, TurnNode, build_tree
from spanlore_collector.store.views import SessionSpans
from support.session_rows import inference_row, tool_row, turn_row


def tree() -> list[TurnNode]:
    """Two turns: a failing Bash call and a Read; then a sub-agent whose command fails."""
    turns = [
        turn_row(),
        turn_row("a2", turn_index=1, start_time_ns=20 * 10**9),
        turn_row("a3", parent_span_id="c3", conversation="c2", call_class="subagent", start_time_ns=21 * 10**9),
    ]
    inferences = [
        inference_row(),
        inference_row("b2", parent_span_id="a2", turn_index=1, step_index=5, start_time_ns=20 * 10**9),
        inference_row("b3", parent_span_id="a3", conversation="c2", step_index=0, start_time_ns=21 * 10**9),
    ]
    tools = [
        tool_row(),
        tool_row("c2", tool_name="Read", program="", outcome="success"),
        tool_row("c3", parent_span_id="a2", tool_name="Agent", program="", outcome="success", step_index=5),
        tool_row("c4", parent_span_id="a3", conversation="c2", program="git"),
    ]
    return build_tree(SessionSpans(turns, inferences, tools))


def names(turns: list[TurnNode]) -> list[str]:
    def below(tools: list[ToolNode]) -> list[str]:
        return [name for tool in tools for name in (tool.row["span_id"][:2], *names(tool.turns))]

    return [name for turn in turns for chat in turn.chats for name in below(chat.tools)]


def test_everything_when_nothing_is_asked() -> None:
    """The tree as it is."""
    assert names(filtered(tree(), Filter())) == names(tree()) == ["cc", "c2", "c3", "c4"]


def test_failures_with_what_led_to_them() -> None:
    """The sub-agent's failure keeps the call that started it."""
    assert names(filtered(tree(), Filter(failed=True))) == ["cc", "c3", "c4"]


def test_by_tool_program_and_turn() -> None:
    """In any case; turns without any are left out."""
    assert names(filtered(tree(), Filter(tool="READ"))) == ["c2"]
    assert names(filtered(tree(), Filter(tool="git"))) == ["c3", "c4"]
    assert names(filtered(tree(), Filter(turn=0))) == ["cc", "c2"]
    assert len(filtered(tree(), Filter(tool="Read"))) == 1
    assert filtered(tree(), Filter(tool="none")) == []


def test_a_failed_model_call_is_a_failure() -> None:
    """It has no tool, and stays."""
    [turn] = build_tree(SessionSpans([turn_row()], [inference_row(error_type="overloaded_error")], []))

    assert len(filtered([turn], Filter(failed=True))[0].chats) == 1
    assert filtered([turn], Filter(failed=True, tool="Bash")) == []
