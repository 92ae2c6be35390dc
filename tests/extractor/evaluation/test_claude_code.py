import json
from typing import Any

from spanlore.spans.place import Channel
from spanlore_extractor.evaluation.claude_code import is_slash_command, read, text_of
from spanlore_extractor.mining.session import HumanStep, Step, ToolStep


def lines(*events: dict[str, Any]) -> tuple[Step, ...]:
    return read([json.dumps({"timestamp": "2026-01-01T00:00:00Z", **event}).encode() for event in events] + [b"{torn"])


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"content": content}, **more}


def asked(call_id: str, name: str, message_id: str) -> dict[str, Any]:
    block = {"type": "tool_use", "id": call_id, "name": name, "input": {"command": "ls"}}
    return {"type": "assistant", "message": {"id": message_id, "content": [block]}}


def answered(call_id: str, text: str, is_error: bool = False) -> dict[str, Any]:
    return user([{"type": "tool_result", "tool_use_id": call_id, "content": text, "is_error": is_error}])


def human(steps: tuple[Step, ...]) -> list[tuple[Channel, str]]:
    return [(step.channel, step.text) for step in steps if isinstance(step, HumanStep)]


def test_lines_of_one_message_are_one_inference() -> None:
    """Parallel calls stand on lines of their own with the same message id."""
    steps = lines(asked("a", "Bash", "m1"), asked("b", "Bash", "m1"), asked("c", "Bash", "m2"),
                  answered("a", "1"), answered("b", "2"), answered("c", "3"))  # fmt: skip

    a, b, c = (step for step in steps if isinstance(step, ToolStep))
    assert a.step_index == b.step_index != c.step_index


def test_only_a_persons_lines_count() -> None:
    """Meta lines, side chains, summaries and slash commands are nobody's words."""
    steps = lines(
        user("go"), user("meta", isMeta=True), user("side", isSidechain=True), user("sum", isCompactSummary=True),
        user("/clear"), user("/var/log is full"),
    )  # fmt: skip

    assert human(steps) == [(Channel.USER_MESSAGE, "go"), (Channel.USER_MESSAGE, "/var/log is full")]


def test_queued_text_counts_once() -> None:
    """What is taken up later counts in its user line, what was consumed in the turn where it was queued."""
    queue = {"type": "queue-operation", "operation": "enqueue"}
    steps = lines({**queue, "content": "later"}, {**queue, "content": "consumed"}, user("later"))

    assert human(steps) == [(Channel.QUEUED, "consumed"), (Channel.USER_MESSAGE, "later")]


def test_a_refusals_reason_is_the_persons() -> None:
    """Except where a dialogue was dismissed."""
    text = "The user doesn't want to proceed. To tell you how to proceed, the user said:\nnot here"
    steps = lines(
        asked("a", "Bash", "m1"),
        answered("a", text, True),
        asked("b", "AskUserQuestion", "m2"),
        answered("b", text, True),
    )

    assert human(steps) == [(Channel.REJECTION_REASON, "not here")]


def test_interruptions_mark_the_next_words() -> None:
    """The marker itself is not typed."""
    steps = lines(user([{"type": "text", "text": "[Request interrupted by user]"}]), user("stop that"))

    [step] = (step for step in steps if isinstance(step, HumanStep))
    assert step.is_interruption


def test_texts() -> None:
    """A content field is a string or blocks; a command has one word after the slash."""
    assert text_of([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]) == "a\nb"
    assert (is_slash_command("/clear now"), is_slash_command("/var/x")) == (True, False)
