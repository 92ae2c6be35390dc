"""Claude Code's JSONL."""

from __future__ import annotations

from typing import Any

import orjson

from spanlore.genai.messages import Reasoning, Text, ToolCall
from spanlore.transcripts.claude_code import read
from spanlore.transcripts.events import Answered, Compacted, Queued, Result, Said


def lines(*events: dict[str, Any]) -> bytes:
    return b"\n".join(orjson.dumps(event) for event in events)


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content": content}, **more}


def assistant(id_: str, *blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    message = {"id": id_, "model": "claude-opus-4-8", "content": list(blocks), "usage": {"input_tokens": 2}, **more}
    return {"type": "assistant", "message": message}


def queue(operation: str, content: str | None = None) -> dict[str, Any]:
    event = {"type": "queue-operation", "operation": operation}
    return event if content is None else event | {"content": content}


def test_blocks_of_one_answer_share_its_id() -> None:
    """One content block a line: three lines with one message id are one answer, each at its own line."""
    found = read(
        lines(
            assistant("msg_1", {"type": "thinking", "thinking": "hm", "signature": "x"}),
            assistant("msg_1", {"type": "text", "text": "I look."}),
            assistant("msg_1", {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}),
        )
    )

    assert [event.part for event in found.events if isinstance(event, Answered)] == [
        Reasoning("hm", "x"),
        Text("I look."),
        ToolCall("toolu_1", "Bash", {"command": "ls"}),
    ]
    assert {event.answer for event in found.events if isinstance(event, Answered)} == {"msg_1"}
    assert [event.mark.line for event in found.events] == [0, 1, 2]


def test_usage_counts_the_cache_as_input() -> None:
    """The API's input excludes what came from the cache; ours includes it."""
    usage = {"input_tokens": 3, "cache_read_input_tokens": 10, "cache_creation_input_tokens": 5, "output_tokens": 7}
    [event] = read(lines(assistant("msg_1", {"type": "text", "text": "a"}, usage=usage))).events

    assert isinstance(event, Answered)
    assert (event.usage.input_tokens, event.usage.cache_read_tokens, event.usage.output_tokens) == (18, 10, 7)


def test_text_beside_a_result_is_kept() -> None:
    """A user line may hold a tool's result and words."""
    blocks = [
        {"type": "tool_result", "tool_use_id": "t", "content": "out", "is_error": True},
        {"type": "text", "text": "no"},
    ]
    found = read(lines(user(blocks))).events

    assert [type(event) for event in found] == [Result, Said]


def test_noise_is_left_out() -> None:
    """Progress, snapshots, meta lines and the agent's own error lines are nobody's words."""
    found = read(
        lines(
            {"type": "progress", "data": {"type": "hook_progress"}},
            {"type": "file-history-snapshot", "messageId": "m"},
            user("Caveat", isMeta=True),
            assistant("x", {"type": "text", "text": "API Error"}, model="<synthetic>"),
            user("This session is being continued", isCompactSummary=True),
        )
    ).events

    assert [type(event) for event in found] == [Compacted]


def test_queued_words_count_once() -> None:
    """Taken up later they count at their user line; consumed within the turn they are told nowhere else; put back into
    the prompt they were never sent; notices of background tasks are nobody's words."""
    found = read(
        lines(
            queue("enqueue", "run the linter"),
            queue("dequeue"),
            user("run the linter"),
            queue("enqueue", "not main, the branch"),
            queue("remove"),
            {"type": "attachment", "attachment": {"type": "queued_command", "prompt": "not main, the branch"}},
            queue("enqueue", "half a sent"),
            queue("popAll", "half a sent"),
            queue("enqueue", '{"task_id":"b1"}'),
            queue("enqueue", "<task-notification>done</task-notification>"),
            {"type": "attachment", "attachment": {"type": "queued_command", "prompt": "only here"}},
        )
    ).events

    assert [(event.mark.line, event.text) for event in found if isinstance(event, Queued)] == [
        (3, "not main, the branch"),
        (10, "only here"),
    ]
    assert [event.blocks for event in found if isinstance(event, Said)] == [("run the linter",)]


def test_side_lines_are_told_apart() -> None:
    """A sub-agent's lines carry its id."""
    [event] = read(lines(user("go", isSidechain=True, agentId="a1"))).events

    assert event.mark.agent == "a1"


def test_where_the_session_was() -> None:
    """Session, directory, branch and version come from the first line that has them."""
    found = read(lines({"type": "summary"}, user("hi", cwd="/repo", gitBranch="main", version="2.1.0")))

    assert (found.session_id, found.cwd, found.branch, found.version) == ("s", "/repo", "main", "2.1.0")


def test_a_line_written_again_counts_once() -> None:
    """A resumed session's file may repeat what it had; without ids, or with other words, nothing is the
    same."""
    once = user("go", uuid="u1")

    assert [event.mark.line for event in read(lines(once, user("on", uuid="u2"), once)).events] == [0, 1]
    assert len(read(lines(user("go", uuid=""), user("go", uuid=""))).events) == 2
    assert len(read(lines(once, user("on", uuid="u1"))).events) == 2
