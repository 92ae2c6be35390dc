from spanlore.spans.place import Channel, Outcome
from spanlore_extractor.evaluation.building import ConversationBuilder, nanoseconds
from spanlore_extractor.mining.session import AgentStep, HumanStep, ToolStep


def test_steps_come_out_with_what_capture_would_know() -> None:
    """Outcome, exit code, program and signature are judged again; the line is the span id."""
    builder = ConversationBuilder()
    builder.tick("2026-01-01T00:00:00Z")
    builder.human(3, "go")
    builder.next_inference()
    builder.agent(4, "I will")
    builder.call(5, "c1", "Bash", {"command": "uv run pytest -q"})
    builder.call(6, "c2", "Bash", {"command": "sleep 100"})
    builder.tick("2026-01-01T00:00:02Z")
    builder.result("c1", "Exit code 1\nE   KeyError: 'x'", True)
    builder.interrupted()
    builder.human(9, "no", Channel.USER_MESSAGE)

    human, agent, tool, last = builder.steps()

    assert isinstance(human, HumanStep) and isinstance(agent, AgentStep) and isinstance(tool, ToolStep)
    assert (tool.outcome, tool.exit_code, tool.program, tool.span_id) == (Outcome.FAILURE, 1, "pytest", f"{5:016x}")
    assert len(tool.signature) == 16
    assert tool.end_time_ns - tool.start_time_ns == 2 * 10**9
    assert isinstance(last, HumanStep) and last.is_interruption


def test_a_result_nobody_asked_for_is_left_out() -> None:
    """And so is a call without a result."""
    builder = ConversationBuilder()
    builder.result("unknown", "x", None)
    builder.call(1, "open", "Bash", {"command": "ls"})

    assert builder.steps() == ()


def test_times() -> None:
    """ISO 8601; nothing where there is none."""
    assert nanoseconds("1970-01-01T00:00:01.500Z") == 1_500_000_000
    assert nanoseconds(None) == 0
