"""A session never knows what it taught itself."""

from spanlore.memory.memory import Status
from spanlore_extractor.evaluation.left_out import left_out
from spanlore_extractor.mining.session import MinedSession
from support.told import SECOND_NS, START_NS, Told


def solved(name: str, number: int, program: str) -> MinedSession:
    told = Told(name, start_ns=START_NS + number * 900 * SECOND_NS).human("go")
    return told.run(f"{program} test", f"error: no {program}", 2).run(f"npx {program} test", "ok").session()


def test_what_the_others_teach_is_known_as_confirmed() -> None:
    """Also what waits for a second session; the only session of a repository is passed over."""
    sessions = [solved("s1", 0, "jest"), solved("s2", 1, "mocha")]
    known = [(session.session_id, list(snapshot.memories)) for session, snapshot in left_out(sessions)]

    assert [name for name, _ in known] == ["s1", "s2"]
    assert [("mocha" in one.text, one.status) for one in known[0][1]] == [(True, Status.ACTIVE)]
    assert [("jest" in one.text, one.status) for one in known[1][1]] == [(True, Status.ACTIVE)]
    assert list(left_out(sessions[:1])) == []
