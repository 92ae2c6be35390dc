import json
from pathlib import Path

import pytest
import typer

from spanlore_extractor.cli.transcript import mine_file

CALLS = [("rtk bun test", 2, "error: unrecognized subcommand 'bun' \x1b]0;x\x07\x9bHx"), ("bun test", 0, "ok")]


def session(folder: Path) -> Path:
    """Claude Code's, with a torn line."""
    lines = ["{torn"]
    for number, (command, code, text) in enumerate(CALLS):
        use = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": command}}
        result = {
            "type": "tool_result",
            "tool_use_id": f"t{number}",
            "content": f"Exit code {code}\n{text}" if code else text,
        }
        message = {"id": f"m{number}", "content": [use]}
        lines.append(json.dumps({"type": "assistant", "sessionId": "s", "uuid": f"u{number}", "message": message}))
        lines.append(json.dumps({"type": "user", "message": {"content": [result | {"is_error": bool(code)}]}}))
    path = folder / "s.jsonl"
    path.write_text("\n".join(lines))
    return path


def test_one_json_object_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing else on stdout; the count of malformed lines on stderr."""
    mine_file(session(tmp_path), as_json=True, with_left=False)
    out, err = capsys.readouterr()

    [finding] = [json.loads(line) for line in out.splitlines()]
    assert (finding["failed_call_id"], finding["fix_call_id"]) == ("t0", "t1")
    assert finding["at"] == {"line": 1, "uuid": "u0"}
    assert "5 lines, 1 malformed" in err


def test_for_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Fits 80 columns."""
    mine_file(session(tmp_path), as_json=False, with_left=False)
    out = capsys.readouterr().out

    assert "fixed by: bun test" in out
    assert max(map(len, out.splitlines())) <= 80


def test_nothing_is_done_to_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line may hold escape sequences: here one that retitles the window, and an 8-bit one that moves the cursor."""
    mine_file(session(tmp_path), as_json=False, with_left=False)
    out = capsys.readouterr().out

    assert "'bun' \ufffdHx" in out
    assert not {"\x1b", "\x07", "\x9b"} & set(out)


@pytest.mark.parametrize("text", ["", "hello\n", None])
def test_other_files(tmp_path: Path, text: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    """A file of no known agent, or none at all: said plainly."""
    path = tmp_path / "x"
    if text is not None:
        path.write_text(text)
    with pytest.raises(typer.Exit):
        mine_file(path, as_json=True, with_left=False)

    assert str(path) in capsys.readouterr().err
