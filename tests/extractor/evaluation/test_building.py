from spanlore.genai.inference import CallClass
from spanlore.genai.messages import Text, ToolCall, ToolResult
from spanlore.spans.place import Channel, Outcome
from spanlore.transcripts.events import Answered, Event, Mark, Queued, Result, Said, Stopped, Transcript
from spanlore_extractor.evaluation.building import line_of, session_of
from spanlore_extractor.mining.session import AgentStep, HumanStep, Step, ToolStep

REFUSED = "The user doesn't want to proceed with this tool use. The tool use was rejected."
REASON = "To tell you how to proceed, the user said:\n"
NOTE = "\n\nNote: The user's next message may contain a correction or preference. Pay close attention"


def call(line: int, id_: str, command: str, name: str = "Bash", answer: str = "") -> Answered:
    return Answered(Mark(line), ToolCall(id_, name, {"command": command}), answer or f"a{line}")


def result(line: int, id_: str, text: str, is_error: bool | None = None, exit_code: int | None = None) -> Result:
    return Result(Mark(line), ToolResult(id_, text, is_error), exit_code)


def steps(*events: Event, harness: str = "claude-code") -> tuple[Step, ...]:
    return session_of(Transcript(harness, events=events)).conversations[0].steps


def test_outcomes_are_those_of_the_wire() -> None:
    """A failure gets its signature; a cascade is none, and grep's 1 neither."""
    found = steps(
        call(0, "t1", "make", answer="a"),
        call(1, "t2", "ls", answer="a"),
        result(2, "t1", "Exit code 2\nmake: *** No rule to make target", True),
        result(3, "t2", "<tool_use_error>Sibling tool call errored</tool_use_error>", True),
        call(4, "t3", "grep x y"),
        result(5, "t3", "Exit code 1", True),
    )

    tools = [step for step in found if isinstance(step, ToolStep)]
    assert [step.outcome for step in tools] == [Outcome.FAILURE, Outcome.UNKNOWN, Outcome.SUCCESS]
    assert [bool(step.signature) for step in tools] == [True, False, False]
    assert (tools[0].step_index, tools[1].step_index, tools[2].step_index) == (1, 1, 2)


def test_an_exit_code_beside_the_text_counts() -> None:
    """OpenCode's failed commands are completed; the code tells."""
    [one, other] = [
        step.outcome
        for code in (0, 3)
        for step in steps(call(0, "t", "make"), result(1, "t", "out", None, code), harness="opencode")
        if isinstance(step, ToolStep)
    ]

    assert (one, other) == (Outcome.SUCCESS, Outcome.FAILURE)


def test_a_refusals_reason_is_a_persons() -> None:
    """Without the boilerplate; a dismissed question gives none; a refusal without words stops the agent."""
    found = steps(
        call(0, "t1", "make"),
        result(1, "t1", REFUSED + " " + REASON + "use just" + NOTE, True),
        call(2, "t2", "", "AskUserQuestion"),
        result(3, "t2", REFUSED + " " + REASON + "what for?", True),
        call(4, "t3", "make"),
        result(5, "t3", REFUSED, True),
        Said(Mark(6), ("[Request interrupted by user for tool use]",)),
        Said(Mark(7), ("not there",)),
    )

    human = [step for step in found if isinstance(step, HumanStep)]
    assert [(step.text, step.channel, step.is_interruption, line_of(step)) for step in human] == [
        ("use just", Channel.REJECTION_REASON, False, 1),
        ("not there", Channel.USER_MESSAGE, True, 7),
    ]
    assert {step.outcome for step in found if isinstance(step, ToolStep)} == {Outcome.REJECTED}


def test_only_a_persons_words_are_human() -> None:
    """Reminders, slash commands and hook text are not; queued words are marked as such."""
    found = steps(
        Said(Mark(0), ("<system-reminder>be nice</system-reminder>",)),
        Said(Mark(1), ("/clear",)),
        Said(Mark(2), ("Operation stopped by hook: busy",)),
        Queued(Mark(3), "<task-notification>x</task-notification>"),
        Queued(Mark(4), "and the tests"),
        Answered(Mark(5), Text("Done."), "a"),
        Stopped(Mark(6)),
        Said(Mark(7), ("/usr/bin is wrong",)),
    )

    assert [(type(step), line_of(step)) for step in found] == [(HumanStep, 4), (AgentStep, 5), (HumanStep, 7)]
    assert isinstance(found[2], HumanStep) and found[2].is_interruption


def test_a_slow_commands_end_belongs_to_it() -> None:
    """Codex tells the end of a running command in the answer to a later poll."""
    running = "Chunk ID: 1\nWall time: 10 seconds\nProcess running with session ID 7\nOutput:\n"
    ended = "Chunk ID: 2\nWall time: 1 seconds\nProcess exited with code 2\nOutput:\nboom"
    poll = Answered(Mark(2), ToolCall("c2", "write_stdin", {"session_id": 7}), "b")
    [step] = steps(
        call(0, "c1", "make", "exec_command"), result(1, "c1", running), poll, result(3, "c2", ended), harness="codex"
    )

    assert isinstance(step, ToolStep)
    assert (step.tool_call_id, step.outcome, step.exit_code, line_of(step)) == ("c1", Outcome.FAILURE, 2, 0)


def test_copilots_slow_command_ends_later_too() -> None:
    """It names a shell, which a later call reads."""
    running = "out\n<command with shellId: 3 is still running after 10 seconds>"
    poll = Answered(Mark(2), ToolCall("c2", "read_bash", {"shellId": "3", "delay": 5}), "b")
    ended = result(3, "c2", "boom\n<exited with exit code 2>", None, 2)
    [step] = steps(call(0, "c1", "make", "bash"), result(1, "c1", running), poll, ended, harness="copilot-cli")

    assert isinstance(step, ToolStep)
    assert (step.tool_call_id, step.outcome, step.exit_code) == ("c1", Outcome.FAILURE, 2)


def test_calls_of_trajectories_are_known_by_their_step() -> None:
    """Their own ids are nowhere else to be seen; the task that a benchmark wrote is no person's."""
    events = (Said(Mark(0), ("Remember: one command at a time.",)), call(2, "x", "ls", "bash"), result(3, "x", "a"))
    [step] = steps(*events, harness="mini-swe-agent")

    assert isinstance(step, ToolStep) and step.tool_call_id == "2"


def test_sub_agents_are_conversations_of_their_own() -> None:
    """In a session's file; a sub-agent's own file is read as what it is about."""
    side = Said(Mark(1, agent="a1"), ("look at it",))
    both = session_of(Transcript("claude-code", events=(Said(Mark(0), ("go",)), side)))
    alone = session_of(Transcript("claude-code", events=(side,)))

    assert [one.call_class for one in both.conversations] == [CallClass.MAIN, CallClass.SUBAGENT]
    assert [one.call_class for one in alone.conversations] == [CallClass.MAIN]
