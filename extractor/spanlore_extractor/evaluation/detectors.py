"""Precision and recall of the detectors on hand labels.

A labels file names, in session files, failures with the call that fixed them (delta), failures that only look so
(neg_delta), corrections, and messages that only look so (neg_correction). Labels are not exhaustive: what is not
labelled counts neither way. For a delta the fix must be the labelled one; a pairing with another call is a wrong one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import orjson

from spanlore_extractor.evaluation.transcripts import read_session
from spanlore_extractor.mining.corrections import Correction, find_corrections
from spanlore_extractor.mining.failures import Delta, find_deltas
from spanlore_extractor.mining.lessons import lesson_of
from spanlore_extractor.mining.pairing import DeltaType
from spanlore_extractor.mining.session import MinedSession

WINDOW_NS: Final = 600 * 10**9
BUDGETS: Final = {
    "delta_precision_min": 0.8,
    "delta_recall_min": 0.4,
    "correction_precision_min": 0.9,
    "correction_recall_min": 0.4,
}
BASELINES: Final[tuple[dict[str, Any], ...]] = (
    {"what": "baseline: next success of the same tool", "right": 72, "wrong": 85, "labelled": 122},
    {"what": "baseline: keywords", "right": 68, "wrong": 19, "labelled": 128},
)
"""On the full label set, of which a quarter is held out (the data folder's README)."""


@dataclass(slots=True)
class Score:
    """How one detector did."""

    what: str
    labelled: int = 0
    """Things to be found."""
    look_alikes: int = 0
    """Things not to be found."""
    right: int = 0
    wrong: int = 0
    """Found, but not that, or not to be found."""
    faults: list[str] = field(default_factory=list)
    """Label ids of the wrong ones."""

    def row(self) -> dict[str, Any]:
        """As one row of the report; precision 1 when nothing was found."""
        found = self.right + self.wrong
        return {
            "what": self.what,
            "labelled": self.labelled,
            "look_alikes": self.look_alikes,
            "right": self.right,
            "wrong": self.wrong,
            "precision": round(self.right / found, 4) if found else 1.0,
            "recall": round(self.right / self.labelled, 4) if self.labelled else 0.0,
            "wrong_labels": self.faults,
        }


@dataclass(frozen=True, slots=True)
class _Found:
    """What the detectors found in one session."""

    deltas: Mapping[str, Delta]
    """By the id of each failing call."""
    lessons: frozenset[str]
    """Failing calls that also make a candidate, code fixes (which wait for a second session) aside."""
    corrections: Mapping[int, Correction]
    """By the line they stand on."""


def evaluate(folder: Path) -> dict[str, Any]:
    """The report on all labels of `folder/labels.jsonl`.

    Raises:
        OSError: the labels or a labelled session can't be read.
        ValueError: they are not what they should be.
    """
    labels = [orjson.loads(line) for line in (folder / "labels.jsonl").read_bytes().splitlines() if line.strip()]
    pairs = Score("failure → fix, right call named")
    kept = Score("… those kept as candidates at once")
    words = Score("corrections")
    durable = Score("… stated as standing rules")
    sessions: dict[str, _Found | None] = {}
    for label in labels:
        file = label["file"]
        if file not in sessions:
            session = read_session(folder, file)
            sessions[file] = _found(session) if session else None
        found = sessions[file]
        if found is None:
            continue
        if label["type"] in ("delta", "neg_delta"):
            _score_delta(label, found, pairs, kept)
        elif label["type"] in ("correction", "neg_correction"):
            _score_correction(label, found, words, durable)
    return _report([pairs, kept, words, durable], len(sessions))


def table(result: Mapping[str, Any]) -> str:
    """The report for people."""
    lines = [f"{'':<40}{'right':>6}{'wrong':>6}{'of':>6}{'precision':>11}{'recall':>8}"]
    lines += [
        f"{row['what']:<40}{row['right']:>6}{row['wrong']:>6}{row['labelled']:>6}"
        f"{row['precision']:>11.2f}{row['recall']:>8.2f}"
        for row in result["rows"]
    ]
    return "\n".join(lines)


def _found(session: MinedSession) -> _Found:
    conversation = session.conversations[0]
    deltas = find_deltas(conversation, WINDOW_NS).deltas
    corrections, _ = find_corrections(conversation)
    by_call = {step.tool_call_id: delta for delta in deltas for step in delta.chain}
    lessons = frozenset(
        step.tool_call_id
        for delta in deltas
        if delta.type is not DeltaType.CODE_FIX and not isinstance(lesson_of(delta, session), str)
        for step in delta.chain
    )
    return _Found(by_call, lessons, {int(item.step.span_id, 16): item for item in corrections})


def _score_delta(label: Mapping[str, Any], found: _Found, pairs: Score, kept: Score) -> None:
    failing = label["failed"]["tool_use_id"]
    delta = found.deltas.get(failing)
    for score, is_found in ((pairs, delta is not None), (kept, failing in found.lessons)):
        fix = label["fix"]["tool_use_id"] if label["type"] == "delta" else None
        _count(score, label, fix is not None, is_found, bool(delta and delta.fix.tool_call_id == fix))


def _score_correction(label: Mapping[str, Any], found: _Found, words: Score, durable: Score) -> None:
    is_one = label["type"] == "correction"
    correction = found.corrections.get(label["at"]["line"])
    _count(words, label, is_one, correction is not None, True)
    is_rule = is_one and bool(label.get("durable"))
    _count(durable, label, is_rule, bool(correction and correction.is_durable), True)


def _count(score: Score, label: Mapping[str, Any], is_one: bool, is_found: bool, is_right: bool) -> None:
    score.labelled += is_one
    score.look_alikes += not is_one
    if is_found and is_one and is_right:
        score.right += 1
    elif is_found:
        score.wrong += 1
        score.faults.append(str(label["id"]))


def _report(scores: Sequence[Score], sessions: int) -> dict[str, Any]:
    rows = [score.row() for score in scores]
    within = (
        rows[0]["precision"] >= BUDGETS["delta_precision_min"]
        and rows[0]["recall"] >= BUDGETS["delta_recall_min"]
        and rows[2]["precision"] >= BUDGETS["correction_precision_min"]
        and rows[2]["recall"] >= BUDGETS["correction_recall_min"]
    )
    for baseline in BASELINES:
        precision = baseline["right"] / (baseline["right"] + baseline["wrong"])
        recall = baseline["right"] / baseline["labelled"]
        rows.append({**baseline, "precision": round(precision, 4), "recall": round(recall, 4)})
    return {
        "bench": "eval detectors",
        "rows": rows,
        "sessions": sessions,
        "budgets": BUDGETS,
        "within_budget": within,
    }
