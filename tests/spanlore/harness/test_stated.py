"""What agents that nobody has described print about a shell command."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore.harness.stated import Stated, read_stated

GPTME = (
    "Ran command: `cat no-such-file; exit 3`\n\n```stderr\ncat: no-such-file: No such file or directory\n```\n\n"
    "Return code: 3\n\n\nNote: the shell exited (code 3) during this command, so gptme started a fresh shell."
)
CLINE_FAILED = (
    '[{"query":"cat x","result":"[Command exited with code 3]\\n\\n[stderr]\\ncat: x: No such file or directory\\n",'
    '"error":"Command exited with code 3","success":false}]'
)
CLINE_MIXED = '[{"query":"a","result":"1","success":true},{"query":"b","result":"2","success":false}]'
VIBE = '{{"command":"cat x","returncode":{code},"stderr":"cat: x: none\\n","stdout":"","timed_out":false}}'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # as recorded with the real programs
        (GPTME, Stated("cat: no-such-file: No such file or directory", 3)),
        (CLINE_FAILED, Stated("cat: x: No such file or directory", 3)),
        ('[{"query":"echo it","result":"it\\n","success":true}]', Stated("it", 0)),
        (CLINE_MIXED, Stated("1\n2", is_mixed=True)),
        (VIBE.format(code=3), Stated("cat: x: none", 3)),
        (VIBE.format(code=0), Stated("cat: x: none", 0)),
        ("Error executing tool Bash: Error (exit code 3): cat: x: none\n", Stated("cat: x: none\n", 3)),
        ("cat: x: none\n<shellId: 0 completed with exit code 3>", Stated("cat: x: none", 3)),
        # the same in other words
        ("ok\n[shell #12 exited with code 1]", Stated("ok", 1)),
        ("ok\n(process 4711 finished with exit status 2)", Stated("ok", 2)),
        ("ok\n<exited with exit code 1>", Stated("ok", 1)),
        ("foo\n[exit code: 2]", Stated("foo", 2)),
        ("Exit code: 0\nfoo", Stated("foo", 0)),
        ("foo\nexit status 3", Stated("foo", 3)),
        ("foo\n<exit_code>4</exit_code>", Stated("foo", 4)),
        ("Command failed with exit code 127", Stated("", 127)),
        ('{"exitCode":1,"stdout":"a\\n","stderr":"b"}', Stated("a\nb", 1)),
        ('[{"result":"","success":false}]', Stated("", has_failed=True)),
    ],
)
def test_the_agents_own_words(text: str, expected: Stated) -> None:
    """Code and output, whether told in a line of its own, in JSON, or in a list with a flag for each command."""
    assert read_stated(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "it works",
        "status: 3",
        "code 3",
        "the tests say exit code 3 is fine",
        "first\nexit code: 3\nsecond\nthird\nfourth\nfifth",
        '{"exit_code":1}',
        '{"status":"failed","output":"x"}',
        '{"exit_code":true,"output":"x"}',
        '[{"result":"x"}]',
        "[1, 2]",
        "{not json",
    ],
)
def test_what_a_program_may_have_printed_proves_nothing(text: str) -> None:
    """Words in the middle, a code without output, JSON of another shape: the text stays as it is, without a code."""
    assert read_stated(text) == Stated(text)


@given(st.text() | st.lists(st.text()).map("\n".join))
def test_any_text_is_read(text: str) -> None:
    """It never raises, and never adds a word."""
    stated = read_stated(text)
    assert len(stated.output) <= len(text) or stated.output == text
