"""Vectors of the library that the extra brings."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from spanlore.embedding.static import DIMENSIONS, EmbeddingsMissingError, load_embed


@pytest.fixture
def fresh() -> Iterator[None]:
    """Nothing loaded before, and nothing kept after."""
    load_embed.cache_clear()
    yield
    load_embed.cache_clear()


def test_near_texts_have_near_vectors() -> None:
    """Rows of length one; what means the same lies nearer than what does not, without a word in common."""
    rows = load_embed()(["launch the unit tests", "how is the test suite started", "the sea is blue"])

    assert rows.shape == (3, DIMENSIONS)
    assert [float(row @ row) for row in rows] == pytest.approx([1.0, 1.0, 1.0], abs=1e-5)
    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.2


@pytest.mark.usefixtures("fresh")
def test_without_the_extra_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that installs it."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    with pytest.raises(EmbeddingsMissingError, match=r"spanlore\[embeddings\]"):
        load_embed()


@pytest.mark.usefixtures("fresh")
def test_nothing_is_downloaded_when_its_files_are_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A broken installation is told; nobody is asked for the files."""
    import wordllama.wordllama

    found = SimpleNamespace(origin=str(tmp_path / "wordllama" / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: found)
    monkeypatch.setattr(wordllama.wordllama.requests, "get", lambda *_, **__: pytest.fail("it would download"))

    with pytest.raises(EmbeddingsMissingError, match="install the extra again"):
        load_embed()
