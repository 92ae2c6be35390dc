"""Tool calls that a request answers."""

from spanlore.genai.messages import ToolCall, ToolResult
from spanlore.spans.place import Outcome
from spanlore_proxy.conversation.state import PendingTool
from spanlore_proxy.conversation.tools import Asked, asked, execution, left_over, results_from, unanswered
from support.conversing import assistant, call, result, user, view

WHERE = Asked(100, 1, 2, b"t" * 16, b"s" * 8)
PENDING = PendingTool("t1", "Bash", 100, 1, 2, b"t" * 16, b"s" * 8)


def test_a_failure_is_told_with_its_signature() -> None:
    """Program, command, exit code and the normalised failure; a success has no signature."""
    shell = ToolCall("t1", "Bash", {"command": "cd x && uv run pytest"})
    failed = execution(shell, ToolResult("t1", "Exit code 1\nE   assert 1 == 2", True), WHERE, 300, "claude-code")
    passed = execution(shell, ToolResult("t1", "ok", False), WHERE, 300, "claude-code")

    assert (failed.outcome, failed.exit_code, failed.program, failed.error_class) == (
        Outcome.FAILURE, 1, "pytest", "assertion")  # fmt: skip
    assert len(failed.signature) == 16 and passed.signature == passed.error_class == ""
    assert (failed.start_time_ns, failed.end_time_ns) == (100, 300)
    assert (failed.turn_index, failed.step_index, failed.trace_id, failed.turn_span_id) == (1, 2, b"t" * 16, b"s" * 8)


def test_a_tool_never_ends_before_it_began() -> None:
    """Clocks of two exchanges may overlap; the span has no length then."""
    assert unanswered(ToolCall("t1", "Bash", {}), WHERE, 50).start_time_ns == 50
    assert asked(PENDING) == WHERE


def test_what_the_history_passed_over() -> None:
    """A call that stands in it without an answer is told; one that the client dropped is not."""
    gone_on = view(user("go"), assistant(call("t1", "ls"), call("t2", "ps")), user(result("t2", "y"), "stop"))
    dropped = view(user("go"), user("other"))

    (told,) = left_over(gone_on, {"t1": PENDING}, frozenset({"t2"}), 300)
    assert (told.call.arguments, told.result, told.outcome_reason) == ({"command": "ls"}, None, "unanswered")
    assert list(left_over(gone_on, {"t1": PENDING}, frozenset({"t1"}), 300)) == []
    assert list(left_over(dropped, {"t1": PENDING}, frozenset(), 300)) == []


def test_results_of_the_client_only() -> None:
    """With the index of their message."""
    found = view(user("go"), assistant(call("t1", "ls")), user(result("t1", "x")), user("more"))

    assert [(index, one.id) for index, one in results_from(found, 0)] == [(2, "t1")]
    assert list(results_from(found, 3)) == []
