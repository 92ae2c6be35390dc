"""The labelled questions, and what is measured with them."""

from importlib import resources

import pytest

from spanlore.embedding.static import EmbeddingsMissingError
from spanlore.recall.snapshot import Snapshot
from spanlore_extractor.evaluation import recalling
from spanlore_extractor.evaluation.recalling import evaluate, load, made_up, measured, scores, table


def test_the_questions_are_whole() -> None:
    """Every question has a memory that answers it, all memories are asked for, and none stands twice."""
    labelled = load()
    ids = {memory.id for memory in labelled.memories}

    assert len(ids) == len(labelled.memories) == recalling.PARAPHRASES
    assert {one for _, right in labelled.questions for one in right} == ids
    assert len({text for text, _ in labelled.questions}) == len(labelled.questions)
    assert resources.files("spanlore_extractor.evaluation").joinpath("recall_questions.json").is_file()


def test_scores() -> None:
    """Found first, second, sixth, never."""
    assert scores([1, 2, 6, 0]) == {"hit_at_1": 0.25, "hit_at_5": 0.5, "mrr": pytest.approx(0.4167, abs=1e-4)}
    assert scores([]) == {"hit_at_1": 0.0, "hit_at_5": 0.0, "mrr": 0.0}


def test_meaning_finds_paraphrases_that_words_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many more of them; nothing that has only meaning for it is shown to an agent unasked."""
    monkeypatch.setattr(recalling, "SIZES", (0,))
    result = evaluate()
    keyword, hybrid = result["rows"]

    assert hybrid["paraphrases_hit_at_5"] >= keyword["paraphrases_hit_at_5"] + 0.2
    assert hybrid["mrr"] > keyword["mrr"]
    assert keyword["shown_unasked"] == hybrid["shown_unasked"] == 0
    assert max(map(len, table(result).splitlines())) <= 80


def test_without_the_extra_only_words_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the table says why."""

    def missing() -> None:
        raise EmbeddingsMissingError("it needs the extra")

    monkeypatch.setattr(recalling, "SIZES", (0,))
    monkeypatch.setattr(recalling, "load_embed", missing)
    result = evaluate()

    assert [row["backend"] for row in result["rows"]] == ["keyword"]
    assert "it needs the extra" in table(result)


def test_other_memories_do_not_answer() -> None:
    """They are of the same repository, the same for the same count, and none is one that was written."""
    labelled = load()
    others = made_up(50)

    assert others == made_up(50)
    assert not {memory.id for memory in others} & {memory.id for memory in labelled.memories}
    assert measured("keyword", Snapshot.of([*labelled.memories, *others]), labelled, None)["memories"] == 86
