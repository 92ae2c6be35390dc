import pytest

from spanlore_extractor.mining.corrections import FOREIGN, Correction, find_corrections
from spanlore_extractor.mining.languages import says_no
from support.told import corrected


@pytest.mark.parametrize(
    "words",
    [
        "Nein, nicht so, nimm pnpm",
        "das ist falsch, der Port ist 8081",
        "bitte keine Kommentare hinzufügen",
        "du hast die Tests vergessen",
        "non, utilise pnpm plutôt",
        "ne modifie pas ce fichier",
        "ce n'est pas ce que j'ai demandé",
        "usa pnpm en vez de npm",
        "no modifiques los tests",
        "isso está errado",
        "não faça commit",
        "usa pnpm invece di npm",
        "不对，应该用 pnpm",
        "别用 npm，用 pnpm",
        "違う、pnpm を使って",
        "テストは変更しないでください",
        "нет, используй pnpm",
        "не трогай тесты",
        "아니, pnpm을 써",
        "그렇게 하지 마세요",
    ],
)
def test_objections(words: str) -> None:
    """What a person objects to in their own language is a correction, told as such, in their words."""
    assert says_no(words)
    [found] = find_corrections(corrected("s", words).session().conversations[0])[0]
    assert isinstance(found, Correction)
    assert FOREIGN in found.signals
    assert found.quote == words


@pytest.mark.parametrize(
    "words",
    [
        "ja, bitte",
        "danke, sieht gut aus",
        "füge bitte einen Test hinzu",
        "was macht diese Funktion?",
        "oui, vas-y",
        "ajoute un test pour le parseur",
        "sí, adelante",
        "añade una prueba",
        "好的，继续",
        "请添加一个测试",
        "テストを追加して",
        "да, продолжай",
        "네, 계속하세요",
        "note the new name",
        "add a test for the parser",
        "continue with the next one",
    ],
)
def test_assent_and_tasks(words: str) -> None:
    """A new task, assent and English objects to nothing here."""
    assert not says_no(words)


def test_a_question_in_another_script_is_one() -> None:
    """The full-width mark ends a question."""
    found, _ = find_corrections(corrected("s", "这个函数是不是错了？").session().conversations[0])
    assert found == []
