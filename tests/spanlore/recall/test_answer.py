"""A question to memory, answered with reasons."""

from spanlore.recall.answer import Question, answer, candidate_to_json
from spanlore.recall.snapshot import Snapshot
from support.injecting import SCOPE, make_memory

ALEMBIC = make_memory("alembic", text="`alembic upgrade` fails here; `make migrate` works.", value="make migrate")
SAME = make_memory("alembic", text="`alembic upgrade` wants the database up.", value="docker up")
OTHER = make_memory("tool", text="The database of the sandbox is called sandbox.", value="sandbox")


def cuts(question: Question) -> list[tuple[str, str]]:
    """(text, cut) of the candidates."""
    return [(item.memory.text, item.cut) for item in answer(Snapshot.of([ALEMBIC, SAME, OTHER]), question)]


def test_every_candidate_comes_with_its_reason() -> None:
    """Shown, cut for saying the same, cut for having too little in common."""
    found = cuts(Question("run alembic upgrade on the database", SCOPE))

    assert {cut for _, cut in found} == {"", "same_slot", "unclear"}
    assert [text for text, cut in found if cut == "unclear"] == [OTHER.text]


def test_limit_and_budget_cut() -> None:
    """What does not fit is told so."""
    many = Snapshot.of([make_memory(f"alembic {n}", slot=f"s{n}") for n in range(8)])

    assert [item.cut for item in answer(many, Question("alembic", SCOPE, limit=2))] == ["", "", *["limit"] * 6]
    assert {item.cut for item in answer(many, Question("alembic", SCOPE, budget_tokens=40))} == {"budget"}


def test_another_repository_has_nothing_to_say() -> None:
    """Memories of a scope stay there."""
    assert cuts(Question("alembic upgrade", "github.com/other/repo")) == []


def test_as_json() -> None:
    """Numbers, terms and the cut."""
    [first, *_] = answer(Snapshot.of([ALEMBIC]), Question("alembic upgrade", SCOPE))
    data = candidate_to_json(first)

    assert (data["id"], data["cut"], data["matched"]) == (ALEMBIC.id, "", ["alembic", "upgrade"])
    assert 0 < data["coverage"] <= 1
