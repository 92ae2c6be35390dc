"""Which files a tool call reads or writes."""

from typing import Any

import pytest

from spanlore.genai.messages import ToolCall
from spanlore.harness.touched import searched_lines, touched_files, without_content

PATCH = "*** Begin Patch\n*** Update File: a/.env\n@@\n-OLD=1\n+NEW=2\n*** Add File: b.txt\n+text\n*** End Patch"


def touched(name: str, arguments: Any, cwd: str = "/r") -> set[str]:
    return {one.path for one in touched_files(ToolCall("1", name, arguments), cwd)}


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("Read", {"file_path": "/r/.env"}, {"/r/.env"}),
        ("read", {"filePath": "sub/.env"}, {"/r/sub/.env"}),
        ("read_file", {"absolute_path": "/r/.env", "offset": 3}, {"/r/.env"}),
        ("NotebookEdit", {"notebook_path": "/r/n.ipynb", "new_source": "x"}, {"/r/n.ipynb"}),
        ("read_many_files", {"paths": ["a", "b/*"]}, {"/r/a", "/r/b/*"}),
        ("str_replace_based_edit_tool", {"command": "view", "path": "/r/x"}, {"/r/x"}),
        ("multi_edit", {"edits": [{"path": "a", "old_string": "b"}]}, {"/r/a"}),
        ("apply_patch", PATCH, {"/r/a/.env", "/r/b.txt"}),
        ("apply_patch", {"input": PATCH}, {"/r/a/.env", "/r/b.txt"}),
        ("Bash", {"command": "cat .env.local"}, {"/r/.env.local"}),
        ("Bash", {"command": "cd sub && sudo head -n3 .env"}, {"/r/sub/head", "/r/sub/.env"}),
        ("shell", {"command": ["bash", "-lc", "sed -n 1p secrets/y"]}, {"/r/1p", "/r/secrets/y"}),
        ("Bash", {"command": "bash -c 'cat secrets/x'"}, {"/r/secrets/x"}),
        ("Bash", {"command": "while read l; do echo $l; done < .env"}, {"/r/.env"}),
        ("Bash", {"command": "cat > .env <<'EOF'\nA=b\nEOF"}, {"/r/.env"}),
        ("Bash", {"command": "grep KEY .env"}, {"/r/KEY", "/r/.env"}),
        ("Bash", {"command": "pytest -q 2>&1 > out.log"}, set()),
        ("Bash", {"command": ".venv/bin/pytest tests"}, set()),
        ("Glob", {"pattern": "*", "path": "secrets"}, set()),
        ("WebFetch", {"url": "https://example.org/.env"}, set()),
        ("odd", None, set()),
        ("odd", [1, {"path": 7}], set()),
    ],
)
def test_files_of_calls(name: str, arguments: Any, expected: set[str]) -> None:
    """Editors by argument, patches by header, shells by the words of programs that print; running is not reading."""
    assert touched(name, arguments) == expected


def test_relative_paths_need_a_directory() -> None:
    """Without the agent's directory only absolute names say where a file is."""
    assert touched("Read", {"file_path": ".env"}, "") == set()
    assert touched("Read", {"file_path": "/r/.env"}, "") == {"/r/.env"}


def test_lines_of_searches() -> None:
    """A search's answer tells the file at the beginning of each line; other tools' answers are not looked at."""
    answer = "src/a.py:3:KEY = 1\n.env:1:KEY=abc\nno path here"
    call = ToolCall("1", "Bash", {"command": "grep -rn KEY . | head"})

    found = [(answer[start:end], path) for start, end, path in searched_lines(call, answer)]

    assert found == [("src/a.py:3:KEY = 1", "src/a.py"), (".env:1:KEY=abc", ".env")]
    assert list(searched_lines(ToolCall("1", "Bash", {"command": "make"}), answer)) == []
    assert len(list(searched_lines(ToolCall("1", "Grep", {"pattern": "KEY"}), answer))) == 2


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"file_path": "/r/.env", "content": "A=b"}, {"file_path": "/r/.env", "content": "M"}),
        ({"command": "create", "path": "x", "file_text": "A"}, {"command": "create", "path": "x", "file_text": "M"}),
        ({"path": "x", "edits": [{"old_string": "a", "n": 1}]}, {"path": "x", "edits": [{"old_string": "M", "n": 1}]}),
        (PATCH, "*** Update File: a/.env\n*** Add File: b.txt\nM"),
        ({"command": "cat > .env <<'EOF'\nA=b\nEOF"}, {"command": "cat > .env <<'EOF'\nM"}),
        ({"command": "echo A=b > .env"}, {"command": "M"}),
        (None, None),
    ],
)
def test_arguments_without_content(arguments: Any, expected: Any) -> None:
    """What is left says which file it was and what was to be done."""
    assert without_content(arguments, "M") == expected
