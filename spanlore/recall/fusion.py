"""Reciprocal rank fusion: one order from several, without comparing their scores (Cormack, Clarke, Büttcher 2009)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

K: Final = 60
"""The paper's constant: how little the first places weigh more than those after them."""


def fuse(*rankings: Sequence[str]) -> dict[str, float]:
    """Id → score, best first; each ranking is ids, best first. Equal ones stand as in the first ranking that has
    them."""
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, name in enumerate(ranking, 1):
            scores[name] = scores.get(name, 0.0) + 1 / (K + rank)
    return dict(sorted(scores.items(), key=lambda item: -item[1]))
