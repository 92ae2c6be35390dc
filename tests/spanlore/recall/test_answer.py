"""A question to memory, answered with reasons."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from spanlore.memory.anchor import Anchor, AnchorKind
from spanlore.memory.memory import Kind, Memory
from spanlore.recall.answer import Question, answer, candidate_to_json
from spanlore.recall.snapshot import Snapshot
from support.injecting import SCOPE, failure_trigger, make_memory

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
    many = Snapshot.of([make_memory(f"alembic {n}", subject="alembic", slot=f"s{n}") for n in range(8)])

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


def test_what_would_stand_beside_a_failure() -> None:
    """The query is what the command printed; what was found and does not fit is told with the reason."""
    error = "ModuleNotFoundError: No module named '{}'"
    fixes = [
        make_memory(
            "python",
            slot="",
            text=f"`python` failed with “{error.format(name)}”; it passed after `pip install {name}`.",
            value=f"pip install {name}",
            trigger=failure_trigger("python x.py", error.format(name), 1),
        )
        for name in ("yaml", "numpy")
    ]
    path = make_memory("src/a.go", kind=Kind.LOCATION, slot="path", text="`src/a.go` does not exist; `b.go` does.",
                       trigger=failure_trigger("Read", "File does not exist.", 1))  # fmt: skip
    snapshot = Snapshot.of([*fixes, path])

    def asked(command: str, printed: str, **changes: str) -> list[tuple[str, str, str]]:
        question = replace(Question(printed, SCOPE, command=command, exit_code=1), **changes)  # type: ignore[arg-type]
        return [(item.memory.value, item.tier, item.cut) for item in answer(snapshot, question)]

    assert asked("python x.py", error.format("yaml")) == [
        ("pip install yaml", "signature", ""),
        ("pip install numpy", "program_and_class", "other_error"),
    ]
    assert [cut for *_, cut in asked("python x.py", error.format("erfa"))] == ["other_error"] * 2
    assert [cut for *_, cut in asked("Read /w/src/a.go", "File does not exist.")] == [""]
    assert [cut for *_, cut in asked("Read /w/src/b.go", "File does not exist.")] == ["other_path"]
    assert asked("ls", error.format("yaml")) == asked("python x.py", error.format("yaml"), kind="trap") == []


class Nearness:
    """Nearness in meaning as it is told."""

    def __init__(self, *near: Memory) -> None:
        self.near = near

    def nearest(self, query: str, limit: int, admits: Callable[[Memory], bool]) -> list[tuple[Memory, float]]:
        return [(memory, 0.5) for memory in self.near if admits(memory)][:limit]


def test_words_and_meaning_are_fused() -> None:
    """Both ranks are told; what is near only in meaning is found, and never shown unasked."""
    far = make_memory("unlike", text="`bazel` is the form that works.", slot="s")
    snapshot = Snapshot.of([ALEMBIC, OTHER, far])
    question = Question("alembic upgrade", SCOPE)
    found = {item.memory.id: item for item in answer(snapshot, question, Nearness(far, ALEMBIC))}
    ranks = {id_: (item.keyword_rank, item.meaning_rank) for id_, item in found.items()}

    assert (ranks[ALEMBIC.id], ranks[far.id]) == ((1, 2), (0, 1))
    assert next(iter(found)) == ALEMBIC.id  # second by meaning and first by words is more than first in one
    assert (found[far.id].cut, found[far.id].similarity, found[far.id].matched) == ("unclear", 0.5, ())
    assert answer(snapshot, question, Nearness()) == answer(snapshot, question)


def test_meaning_crosses_no_border() -> None:
    """Another repository's memory is not near enough, whatever its vector says."""
    foreign = make_memory("foreign", scope="github.com/other/repo")

    assert answer(Snapshot.of([foreign]), Question("alembic", SCOPE), Nearness(foreign)) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"kind": "usage"}, {"one", "two"}),
        ({"kind": "location"}, {"three"}),
        ({"branch": "main"}, {"one", "three"}),
        ({"path": "src/app"}, {"two", "three"}),
        ({"path": "src/app/db.py"}, {"three"}),
        ({"path": "src/ap"}, set()),
        ({"path": "src/app", "kind": "usage", "branch": "dev"}, {"two"}),
    ],
)
def test_only_what_is_asked_for(changes: dict[str, str], expected: set[str]) -> None:
    """By kind, by a file or directory that it names, by branch; before the limit cuts, and for meaning as well."""
    memories = {
        "one": make_memory("alembic one", slot="1", branch="main"),
        "two": make_memory("alembic two", slot="2", branch="dev", anchors=(Anchor(AnchorKind.PATH, "src/app/x.py"),)),
        "three": make_memory("alembic three", slot="3", kind=Kind.LOCATION, value="src/app/db.py"),
    }
    crowd = [make_memory(f"alembic {n}", slot=f"c{n}", branch="other", kind=Kind.TRAP) for n in range(40)]
    snapshot = Snapshot.of([*crowd, *memories.values()])
    question = replace(Question("alembic", SCOPE, limit=1), **changes)  # type: ignore[arg-type]
    by_words = {item.memory.id for item in answer(snapshot, question)}
    by_both = {item.memory.id for item in answer(snapshot, question, Nearness(*snapshot.memories))}

    assert by_words == by_both == {memories[name].id for name in expected}
