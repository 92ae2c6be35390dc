import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore.memory.memory import Evidence, EvidenceRole, Kind, Memory, Source, Status
from spanlore_extractor.notes.markdown import NoteError, Observation, note_of, observation, read_note

CITED = Evidence("1" * 32, "2" * 16, "session-1", EvidenceRole.FIX, 5)
MEMORY = Memory(
    "m-1", Kind.USAGE, Source.FAILURE_DELTA, Status.ACTIVE, "github.com/a/b",
    "`rtk bun` failed with “x #1 (y)”; `bun` worked instead.", evidence=(CITED,), session_count=2, why="x",
)  # fmt: skip


def test_a_memorys_note_is_basic_memorys() -> None:
    """Front matter with title, type, permalink and tags, observations, relations with links."""
    text = note_of(MEMORY)
    note = read_note(text)

    assert (note.front["type"], note.front["permalink"]) == ("memory", "spanlore/memories/m-1")
    assert note.front["tags"] == ["spanlore", "usage"]
    assert (note.front["kind"], note.front["category"]) == ("usage", "convention")
    assert note.memory_id == "m-1"
    assert "\n- about [[github.com/a/b]]\n- learned_in [[session session-1]]\n" in text
    assert note.observations[0] == Observation("convention", MEMORY.text, ("#active",), "seen in 2 sessions")
    assert note_of(MEMORY) == text


LINES = st.text(st.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1).map(
    lambda text: " ".join(text.split())
).filter(lambda text: text and not text.endswith(")"))  # fmt: skip


@given(LINES)
def test_whatever_a_memory_says_comes_back(text: str) -> None:
    """Hashes, brackets and backslashes in it are its own."""
    line = observation(Observation("usage", text, ("active",), "seen in 1 session"))
    [found] = read_note(f"---\na: b\n---\n{line}\n").observations

    assert found.text == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("# no front matter", "no front matter"), ("---\n[\n---\n", "no YAML"), ("---\n- a\n---\n", "no mapping"),
        ("---\na: b\n---\n" + "x" * 300_000, "larger than"), ("---\na: !!python/object:os.system x\n---\n", "no YAML"),
        *(
            (f"---\na: {value}\n---\n", "no YAML")
            for value in ('!!int ""', "!!int _", '!!float ""', "!!bool x", "!!timestamp x", "2001-99-99", "9" * 5_000)
        ),
        ("---\na: " + "[" * 5_000 + "\n---\n", "no YAML"),
    ],
)  # fmt: skip
def test_what_is_no_note(text: str, reason: str) -> None:
    """Told, and nothing in it is run."""
    with pytest.raises(NoteError, match=reason):
        read_note(text)


@pytest.mark.parametrize("repeated", ["[{}]", "{{<<: [{}]}}"], ids=["lists", "merged keys"])
def test_a_note_is_no_larger_than_its_text(repeated: str) -> None:
    """Aliases of aliases would be: twelve lines of them are 10¹² values."""
    lines = ["a0: &a0 {k: v}"]
    lines += [f"a{n}: &a{n} " + repeated.format(", ".join([f"*a{n - 1}"] * 10)) for n in range(1, 13)]

    with pytest.raises(NoteError, match="aliases"):
        read_note("---\n" + "\n".join([*lines, "spanlore_id: *a12"]) + "\n---\n")
