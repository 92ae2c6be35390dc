"""Static word vectors (WordLlama): a table of 32,000 rows, looked up and averaged; nothing is downloaded.

The vectors and the tokenizer lie in the library's wheel (16 MB). It looks for its tokenizer in a cache directory first
and would fetch it; told to look in its own folder, and not to download, it finds what it brought along.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

CONFIG: Final = "l2_supercat"
DIMENSIONS: Final = 256
_LIBRARY: Final = "wordllama"


class EmbeddingsMissingError(RuntimeError):
    """The extra is not installed, or is broken. The message says what to do."""


@functools.cache
def load_embed() -> Callable[[Sequence[str]], NDArray[numpy.float32]]:
    """The function from texts to rows of length one: 0.4 s and some 60 MB at first, then 0.1 ms a text.

    Raises:
        EmbeddingsMissingError: the library is not there, or not whole.
    """
    found = importlib.util.find_spec(_LIBRARY)
    if found is None or found.origin is None:
        raise EmbeddingsMissingError("recall.backend = hybrid needs the extra: pip install 'spanlore[embeddings]'")
    from wordllama import WordLlama

    try:
        model: Any = WordLlama.load(
            config=CONFIG, dim=DIMENSIONS, cache_dir=Path(found.origin).parent, disable_download=True
        )
    except (OSError, ValueError) as error:
        raise EmbeddingsMissingError(f"{_LIBRARY} can't be used: {error}; install the extra again") from error

    def embed(texts: Sequence[str]) -> NDArray[numpy.float32]:
        rows: NDArray[numpy.float32] = model.embed(list(texts), norm=True)
        return rows

    return embed
