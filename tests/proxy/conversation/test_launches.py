"""Which tool call started a sub-agent."""

from spanlore.genai.messages import ToolCall, ToolResult
from spanlore.spans.ids import tool_span_id
from spanlore_proxy.conversation.launches import find_launch, launches_in, prompt_hash, with_agent_id
from spanlore_proxy.conversation.state import ConversationState, Launch
from spanlore_proxy.wire.anthropic import decode_message
from support.conversing import user

TRACE = b"t" * 16


def parent(*launches: Launch) -> ConversationState:
    """A conversation that made these launches."""
    return ConversationState("c0", "s", False, "g", launches=launches)


def test_launches_are_calls_with_a_prompt() -> None:
    """Of a tool that starts agents, whatever the harness calls it."""
    calls = [
        ToolCall("1", "Agent", {"prompt": " look ", "subagent_type": "Explore"}),
        ToolCall("2", "spawn_agent", {"message": "look"}),
        ToolCall("3", "Bash", {"prompt": "look"}),
        ToolCall("4", "Task", "broken"),
    ]

    assert launches_in(calls, TRACE) == (
        Launch("1", prompt_hash("look"), "Explore", TRACE),
        Launch("2", prompt_hash("look"), "", TRACE),
    )


def test_the_prompt_tells_which_of_two() -> None:
    """Word for word, beside reminders."""
    state = parent(Launch("1", prompt_hash("a"), "", TRACE), Launch("2", prompt_hash("b"), "", TRACE))
    found = find_launch([decode_message(user("<system-reminder>", "b"))], "", "", [state], may_guess=False)

    assert found == (state, state.launches[1])


def test_the_agent_id_tells_where_the_prompt_was_rewritten() -> None:
    """Once the tool's result has named it."""
    launch = Launch("1", prompt_hash("a"), "", TRACE)
    named = with_agent_id(launch, ToolResult("1", "Async agent launched successfully.\nagentId: a12 (internal)"))
    state = parent(named, Launch("2", prompt_hash("b"), "", TRACE))

    assert named.agent_id == "a12"
    assert with_agent_id(launch, ToolResult("2", "agentId: a12")) == launch
    assert find_launch([decode_message(user("other"))], "a12", "", [state], may_guess=False) == (state, named)


def test_a_guess_is_only_made_where_there_is_one_choice() -> None:
    """And only for what is known to be a sub-agent; a launch that has its agent is no choice."""
    one, two = Launch("1", prompt_hash("a"), "Explore", TRACE), Launch("2", prompt_hash("b"), "Plan", TRACE)
    messages = [decode_message(user("rewritten"))]
    state = parent(one, two)
    child = ConversationState("c1", "s", False, "g", parent_tool_span_id=tool_span_id("c0", "1"))

    assert find_launch(messages, "", "", [state], may_guess=True) is None
    assert find_launch(messages, "", "Plan", [state], may_guess=True) == (state, two)
    assert find_launch(messages, "", "", [state, child], may_guess=True) == (state, two)
    assert find_launch(messages, "", "Plan", [state], may_guess=False) is None
    assert find_launch(messages, "", "", [], may_guess=True) is None
