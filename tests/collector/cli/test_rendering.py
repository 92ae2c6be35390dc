import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console, RenderableType

from spanlore_collector.cli import rendering
from spanlore_collector.store.session_tree import build_tree
from spanlore_collector.store.views import SessionSpans
from support.session_rows import inference_row, session_row, tool_row, turn_row
from support.snapshots import in_utc, plain, same

NOW_NS = 86_400 * 10**9


def lines(view: RenderableType) -> list[str]:
    out = StringIO()
    Console(file=out, width=80).print(view)
    return out.getvalue().splitlines()


def test_session_is_readable_at_80_columns() -> None:
    """Turn, model call, placement, tool, its exit code and first error line, none wider than the terminal."""
    item = {"kind": "session_block", "anchor": "system", "memory_ids": ["m-0123456789ab"], "bytes": 412, "first": True}
    chat = inference_row(
        injected_memory_ids=["m-0123456789ab"], injected_bytes=412, injected_placements=json.dumps([item])
    )
    long_prompt = turn_row(prompt="Run the tests of this project and tell me whether they pass. " * 5)
    tree = build_tree(SessionSpans([long_prompt], [chat], [tool_row()]))
    shown = lines(rendering.session_view(session_row(), tree))

    text = "\n".join(shown)
    for word in ("turn 1", "claude-sonnet-4-5", "+412 B", "session block, 412 B: m-0123456789ab", "✗ Bash", "exit 1"):
        assert word in text
    assert "ModuleNotFoundError: No module named 'tally'" in text
    assert max(map(len, shown)) <= 80


def test_session_table_is_readable_at_80_columns() -> None:
    """One session is one line, with its failures."""
    shown = lines(rendering.session_table([session_row(), session_row(failures=0, cost_usd=None)], NOW_NS))

    assert len(shown) == 3
    for word in ("5e551011", "01 Jan", "tally", "1 1✗", "12.4k", "$0.0123", "Run the"):
        assert word in shown[1]
    assert max(map(len, shown)) <= 80


def test_ids_and_days_that_tell_sessions_apart() -> None:
    """Ids that begin alike are shown as far as they differ, and days of another year with their year."""
    rows = [session_row(session_id=f"swe_main-{n}7ab") for n in (1, 2)]
    shown = lines(rendering.session_table(rows, NOW_NS + 400 * 86_400 * 10**9))

    assert [line.split()[0] for line in shown[1:]] == ["swe_main-1", "swe_main-2"]
    assert "01 Jan 1970" in shown[1]
    assert max(map(len, shown)) <= 80


def test_the_page_of_a_session() -> None:
    """Where there is a web page, its address stands with the session."""
    text = "\n".join(lines(rendering.session_view(session_row(), [], "http://127.0.0.1:7720/sessions/5e55")))

    assert "http://127.0.0.1:7720/sessions/5e55" in text


def test_what_a_tool_says_is_not_markup() -> None:
    """Brackets in a command are shown as they are."""
    tree = build_tree(SessionSpans([turn_row()], [inference_row()], [tool_row(command="test [bold] -f x")]))

    assert "test [bold] -f x" in "\n".join(lines(rendering.session_view(session_row(), tree)))


def test_rejected_and_unknown_outcomes_are_told() -> None:
    """What did not succeed says why."""
    tools = [tool_row(outcome="rejected", outcome_reason="user_rejected", exit_code=None, error_line="")]
    tree = build_tree(SessionSpans([turn_row(end="interrupted")], [inference_row(attempt=2)], tools))
    text = "\n".join(lines(rendering.session_view(session_row(), tree)))

    for word in ("user_rejected", "interrupted", "attempt 2"):
        assert word in text


def test_a_call_without_an_answer_tells_no_tokens() -> None:
    """An error has cost none, and two dashes would say nothing."""
    failed = inference_row(input_tokens=None, output_tokens=None, cost_usd=None, error_type="overloaded_error")
    tree = build_tree(SessionSpans([turn_row()], [failed], []))
    text = "\n".join(lines(rendering.session_view(session_row(), tree)))

    assert "· overloaded_error" in text and "→" not in text


def test_views_are_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """Letter by letter: the list, one session with an injection and a failure, what a search found."""
    item = {"kind": "session_block", "anchor": "system", "memory_ids": ["m-0123456789ab"], "bytes": 412, "first": True}
    chat = inference_row(
        injected_memory_ids=["m-0123456789ab"], injected_bytes=412, injected_placements=json.dumps([item])
    )
    tree = build_tree(
        SessionSpans([turn_row()], [chat], [tool_row(), tool_row("c2", outcome="success", exit_code=0, error_line="")])
    )
    hit = {
        "session_id": session_row()["session_id"],
        "span_id": "cc00000000000000",
        "time_ns": 10**9,
        "direction": "result",
        "role": "tool",
        "name": "Bash",
        "snippet": "Exit code 1\nModuleNotFoundError: No module named 'tally', and so on for as long as it takes " * 2,
        "harness": "claude-code",
        "repository": "github.com/example/tally",
    }
    views = {
        "sessions": rendering.session_table(
            [session_row(), session_row(failures=0, cost_usd=None, repository="")], NOW_NS
        ),
        "session": rendering.session_view(session_row(), tree),
        "search": rendering.hits_view([hit], ["module", "tally"], NOW_NS),
    }
    with in_utc(monkeypatch):
        shown = {name: plain(view) for name, view in views.items()}

    for name, text in shown.items():
        same(text, Path(__file__).with_name("snapshots") / f"{name}.txt")
