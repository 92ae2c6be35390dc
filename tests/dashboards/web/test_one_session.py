"""One session and its spans."""

import pytest

from spanlore.genai.messages import Blob, Generic, Text, Uri, part_body
from spanlore.genai.messages import Part as Said
from spanlore_collector.store.reader import Reader
from spanlore_dashboards.web.one_session import (
    RUNNING_NS,
    Part,
    is_running,
    read_content,
    read_parts,
    read_session,
    read_span,
)
from support.web_story import SESSION, WebStory


def test_a_session_is_found_by_its_whole_id(reader: Reader) -> None:
    """Another that begins so is another one."""
    assert read_session(reader, SESSION) is not None
    assert read_session(reader, SESSION[:-1]) is None
    assert read_session(reader, "nothing") is None


def test_a_session_has_its_tree(reader: Reader) -> None:
    """Two turns, and the sub-agent under the tool that started it."""
    session = read_session(reader, SESSION)

    assert session is not None
    assert [turn.row["end"] for turn in session.turns] == ["completed", "interrupted"]
    assert [len(tool.turns) for tool in session.turns[0].chats[0].tools] == [0, 0, 1]
    assert session.models == ["claude-sonnet-4-5"]


def test_a_tool_call_with_what_went_in_and_out(reader: Reader, story: WebStory) -> None:
    """Its outcome, its arguments and its output."""
    detail = read_span(reader, SESSION, story.failed_span)

    assert detail is not None
    assert (detail.kind, detail.row["outcome"], detail.row["exit_code"]) == ("tool", "failure", 1)
    assert {part.direction: part.text for part in detail.parts}["result"].startswith("E   KeyError")
    assert read_span(reader, "another-session", story.failed_span) is None


def test_a_model_call_with_what_was_injected(reader: Reader, story: WebStory) -> None:
    """What was shown and what was withheld, with the content of both directions."""
    detail = read_span(reader, SESSION, story.chat_span)

    assert detail is not None
    assert [(item.state, item.memory_ids) for item in detail.placed] == [
        ("shown", ("m-000000000001",)),
        ("withheld", ("m-000000000004",)),
    ]
    assert [part.type for part in detail.parts if part.direction == "output"] == [
        "reasoning",
        "text",
        "tool_call",
        "tool_call",
        "tool_call",
    ]
    assert isinstance(detail.row["cost_usd"], float)


def test_a_turn_is_a_span_too(reader: Reader) -> None:
    """Evidence may cite it."""
    session = read_session(reader, SESSION)
    assert session is not None
    detail = read_span(reader, SESSION, session.turns[0].row["span_id"])

    assert detail is not None
    assert (detail.kind, detail.row["failures"]) == ("turn", 1)


def test_content_is_cut_and_can_be_had_whole(reader: Reader, story: WebStory) -> None:
    """The head says that there is more; the whole is only given for a session that it stands in."""
    part = read_parts(reader, SESSION, [story.failed_span], head_chars=5)[story.failed_span][1]

    assert (part.direction, part.text) == ("result", "E   K")
    assert read_content(reader, SESSION, part.hash) == "E   KeyError: 'DATABASE_URL'\n1 error"
    assert read_content(reader, "another-session", part.hash) is None


def test_running_is_what_moved_just_now() -> None:
    """By the newest span's end."""
    assert is_running({"end_time_ns": 1}, RUNNING_NS)
    assert not is_running({"end_time_ns": 1}, RUNNING_NS + 1)


@pytest.mark.parametrize(
    ("said", "kind", "shown"),
    [
        (Blob("image", "image/png", "ab" * 16, 123_456), "blob", "image (image/png, 123.5 KB)"),
        (Blob("document", None, "ab" * 16, 0), "blob", "document (type not told, 0.0 KB)"),
        (Uri("image", "https://example.org/x.png"), "uri", "image, by its address"),
        (Text("blob"), "text", ""),
        (Generic("blob", 1), "blob", "file (type not told, 0.0 KB)"),
    ],
)
def test_a_picture_is_named(said: Said, kind: str, shown: str) -> None:
    """By what it was: it is not kept itself."""
    assert Part("input", "user", kind, "", "", "h", 1, part_body(said)).media == shown
