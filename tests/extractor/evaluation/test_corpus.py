from pathlib import Path

from spanlore.memory.memory import Status
from spanlore.redaction.redact import Redactor
from spanlore_extractor.evaluation.corpus import consolidated, memories_of, rows_of
from support.told import SECOND_NS, START_NS, Told


def session(name: str, start_ns: int = START_NS) -> Told:
    told = Told(name, start_ns=start_ns).human("go")
    return told.run("rtk bun run test", "error: unrecognized subcommand 'bun'", 2).run("bun run test", "ok")


def test_sessions_teach_together() -> None:
    """What two sessions show is active and stands first; what one shows waits."""
    one, other = session("s1"), session("s2", START_NS + 900 * SECOND_NS)
    one.run("gofmt -l ./cmd/...", "stat ./cmd/...: no such file or directory", 1).run("gofmt -l cmd/", "ok")

    corpus = consolidated([one.session(), other.session()], 0, Redactor())

    assert [(memory.status, memory.session_count) for memory in corpus.memories] == [
        (Status.ACTIVE, 2),
        (Status.CANDIDATE, 1),
    ]
    assert corpus.sessions == 2
    assert corpus.candidates == 3
    assert rows_of(corpus)[0]["text"].startswith("`rtk bun run test` failed")


def test_traps_need_another_session() -> None:
    """A code fix is kept only where its failure came back in another session."""
    failing = "--- FAIL: TestTheThing (0.01s)\n    thing_test.go:3: expected 'a', got 'b'"

    def fixed(name: str) -> Told:
        told = Told(name).human("go").run("go test ./...", failing, 1)
        return told.call("Write", {"file_path": "/home/dev/tally/a.go"}).run("go test ./...", "ok")

    one = consolidated([fixed("s1").session()], 0, Redactor())
    assert one.memories == ()
    assert one.left == (("trap", "code was fixed; the failure was not seen in another session", 1),)
    both = consolidated([fixed("s1").session(), fixed("s2").session()], 0, Redactor())
    assert [memory.kind.value for memory in both.memories] == ["trap"]


def test_a_folder(tmp_path: Path) -> None:
    """Files of no known agent are counted and passed over."""
    (tmp_path / "sessions" / "pi" / "a__b").mkdir(parents=True)
    (tmp_path / "sessions" / "pi" / "a__b" / "x.txt").write_text("hello")

    corpus = memories_of(tmp_path, Redactor())

    assert (corpus.sessions, corpus.skipped, corpus.memories) == (0, 1, ())
