"""Reading shell text without a shell."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanlore.signature.shell import Simple, simple_commands


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ls -la", [Simple(("ls", "-la"), "")]),
        ("a 2>&1 >/dev/null <in &> out", [Simple(("a",), "")]),
        ("if [ -f x ]; then cat x; fi", [Simple(("[", "-f", "x", "]"), ";"), Simple(("cat", "x"), ";")]),
        ("", []),
        ("# only a comment", []),
    ],
)
def test_simple_commands_keep_their_words_and_joints(text: str, expected: list[Simple]) -> None:
    """Words lose their quotes, redirections go, operators stay with the command they follow."""
    assert list(simple_commands(text)) == expected


def test_operators_of_a_long_line() -> None:
    """Every joint is told apart."""
    found = simple_commands("cd x && make -j4 | tee log; echo 'a b' || exit 1 & wait")

    assert [(simple.words[0], simple.then) for simple in found] == [
        ("cd", "&&"),
        ("make", "|"),
        ("tee", ";"),
        ("echo", "||"),
        ("exit", "&"),
        ("wait", ""),
    ]
    assert found[3].words == ("echo", "a b")


def test_a_here_document_is_not_read_as_commands() -> None:
    """What stands in a here-document is data, inside a substitution as well."""
    plain = simple_commands("cat <<EOF > out\nrm -rf | x\nEOF\npython run.py")
    nested = simple_commands("git commit -m \"$(cat <<'EOF'\nDon't (stop | here\nEOF\n)\" && git push")

    assert [simple.words[0] for simple in plain] == ["cat", "python"]
    assert [simple.words[:2] for simple in nested] == [("git", "commit"), ("git", "push")]


def test_a_group_passes_its_joint_on() -> None:
    """What follows a group in parentheses follows its last command."""
    found = simple_commands("(cd a; make test) 2>&1 | tail -3")

    assert [(simple.words[0], simple.then) for simple in found] == [("cd", ";"), ("make", "|"), ("tail", "")]


@settings(deadline=None, max_examples=200)
@given(st.text(alphabet="ab '\"$()`\\|&;<>\n#={}[]!EOF-", max_size=60))
def test_any_text_is_read(text: str) -> None:
    """No text makes the reader raise or hang, and no command is without words."""
    assert all(simple.words for simple in simple_commands(text))
