"""Precision and recall of the detectors on hand labels, by repository.

A labels file names, in session files, failures with the call that fixed them (delta), failures that only look so
(neg_delta), corrections, and messages that only look so (neg_correction). Labels are not exhaustive: what is not
labelled counts neither way. What is scored is what `spanlore mine --transcript FILE --json` prints.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import orjson

from spanlore.redaction.redact import Redactor
from spanlore_extractor.evaluation.findings import find_all
from spanlore_extractor.evaluation.transcripts import read_session

BUDGETS: Final = {
    "delta_precision_min": 0.9,
    "delta_recall_min": 0.8,
    "fix_right_min": 0.8,
    "correction_precision_min": 0.9,
    "correction_recall_min": 0.7,
}
BASELINES: Final[tuple[dict[str, Any], ...]] = (
    {"what": "baseline: next success of the same tool", "right": 72, "wrong": 85, "labelled": 122},
    {"what": "baseline: keywords", "right": 68, "wrong": 19, "labelled": 128},
)
"""On the full label set, of which a quarter is held out (the data folder's README)."""
DELTAS: Final = "failure → fix"
FIXES: Final = "… right call named"
KEPT: Final = "… kept as candidates at once"
WORDS: Final = "corrections"
RULES: Final = "… stated as standing rules"


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
    missed: list[str] = field(default_factory=list)

    def count(self, label: Mapping[str, Any], is_one: bool, is_found: bool, is_right: bool = True) -> None:
        """Takes one label; `is_one`: it is to be found."""
        self.labelled += is_one
        self.look_alikes += not is_one
        if is_found and is_one and is_right:
            self.right += 1
        elif is_found:
            self.wrong += 1
            self.faults.append(str(label["id"]))
        elif is_one:
            self.missed.append(str(label["id"]))

    def add(self, other: Score) -> None:
        """Takes in another score of the same thing."""
        for name in ("labelled", "look_alikes", "right", "wrong"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.faults += other.faults
        self.missed += other.missed

    @property
    def precision(self) -> float:
        """1 when nothing was found."""
        found = self.right + self.wrong
        return self.right / found if found else 1.0

    @property
    def recall(self) -> float:
        """1 when there was nothing to find."""
        return self.right / self.labelled if self.labelled else 1.0

    def row(self) -> dict[str, Any]:
        """As one row of the report."""
        return {
            "what": self.what,
            "labelled": self.labelled,
            "look_alikes": self.look_alikes,
            "right": self.right,
            "wrong": self.wrong,
            "precision": round(self.precision, 4),
            "recall": round(self.recall, 4),
            "wrong_labels": self.faults,
            "missed_labels": self.missed,
        }


def scores() -> dict[str, Score]:
    """Empty scores, one for each thing that is measured."""
    return {what: Score(what) for what in (DELTAS, FIXES, KEPT, WORDS, RULES)}


@dataclass(frozen=True, slots=True)
class _Found:
    """What was found in one session."""

    deltas: Mapping[str, Mapping[str, Any]]
    """By the id of each failing call."""
    corrections: Mapping[int, Mapping[str, Any]]
    """By the line they stand on."""


def evaluate(folder: Path) -> dict[str, Any]:
    """The report on all labels of `folder/labels.jsonl`.

    Raises:
        OSError: the labels or a labelled session can't be read.
        ValueError: they are not what they should be.
    """
    labels = [orjson.loads(line) for line in (folder / "labels.jsonl").read_bytes().splitlines() if line.strip()]
    redactor = Redactor()
    by_repository: dict[str, dict[str, Score]] = defaultdict(scores)
    sessions: dict[str, _Found] = {}
    for label in labels:
        file = label["file"]
        if file not in sessions:
            sessions[file] = _found(folder, file, redactor)
        score_label(label, sessions[file].deltas, sessions[file].corrections, by_repository[file.split("/")[-2]])
    return _report(by_repository, len(sessions))


def score_label(
    label: Mapping[str, Any],
    deltas: Mapping[str, Mapping[str, Any]],
    corrections: Mapping[int, Mapping[str, Any]],
    into: Mapping[str, Score],
) -> None:
    """Counts one label; the findings by failing call and by line."""
    if label["type"] in ("delta", "neg_delta"):
        is_one = label["type"] == "delta"
        delta = deltas.get(label["failed"]["tool_use_id"])
        is_right = is_one and delta is not None and delta["fix_call_id"] == label["fix"]["tool_use_id"]
        into[DELTAS].count(label, is_one, delta is not None)
        if is_one and delta is not None:
            into[FIXES].count(label, True, True, is_right)
        into[KEPT].count(label, is_one, delta is not None and not delta["dropped"], is_right)
    elif label["type"] in ("correction", "neg_correction"):
        is_one = label["type"] == "correction"
        correction = corrections.get(label["at"]["line"])
        into[WORDS].count(label, is_one, correction is not None)
        is_rule = correction is not None and correction["type"] == "standing rule"
        into[RULES].count(label, is_one and bool(label.get("durable")), is_rule)


def table(result: Mapping[str, Any]) -> str:
    """The report for people."""
    lines = [f"{'':<40}{'right':>6}{'wrong':>6}{'of':>6}{'precision':>11}{'recall':>8}"]
    lines += [_line(row) for row in result["rows"]]
    lines += ["", "By repository, and with it left out:"]
    lines += [_line(row) for row in result["by_repository"]]
    return "\n".join(lines)


def _line(row: Mapping[str, Any]) -> str:
    text = (
        f"{row['what'][:40]:<40}{row['right']:>6}{row['wrong']:>6}{row['labelled']:>6}"
        f"{row['precision']:>11.2f}{row['recall']:>8.2f}"
    )
    if "rest_precision" in row:
        return f"{text}{row['rest_precision']:>7.2f}{row['rest_recall']:>5.2f}"
    return text


def _found(folder: Path, file: str, redactor: Redactor) -> _Found:
    findings = find_all(read_session(folder, file), {}, redactor)
    return _Found(
        {one["failed_call_id"]: one for one in findings if one["kind"] == "failure_delta"},
        {one["at"]["line"]: one for one in findings if one["kind"] in ("correction", "explicit")},
    )


def _report(by_repository: Mapping[str, Mapping[str, Score]], sessions: int) -> dict[str, Any]:
    total = _sum(by_repository.values())
    rows = [score.row() for score in total.values()]
    for baseline in BASELINES:
        precision = baseline["right"] / (baseline["right"] + baseline["wrong"])
        recall = baseline["right"] / baseline["labelled"]
        rows.append({**baseline, "precision": round(precision, 4), "recall": round(recall, 4)})
    within = (
        total[DELTAS].precision >= BUDGETS["delta_precision_min"]
        and total[DELTAS].recall >= BUDGETS["delta_recall_min"]
        and total[FIXES].precision >= BUDGETS["fix_right_min"]
        and total[WORDS].precision >= BUDGETS["correction_precision_min"]
        and total[WORDS].recall >= BUDGETS["correction_recall_min"]
    )
    return {
        "bench": "eval detectors",
        "rows": rows,
        "by_repository": _by_repository(by_repository),
        "sessions": sessions,
        "budgets": BUDGETS,
        "within_budget": within,
    }


def _by_repository(by_repository: Mapping[str, Mapping[str, Score]]) -> list[dict[str, Any]]:
    """Each repository alone, and all the others without it. The rules are the same in both: they have nothing fitted
    to a repository, so the spread between repositories is what another one is to be expected to bring."""
    out = []
    for name in sorted(by_repository):
        rest = _sum([one for other, one in by_repository.items() if other != name])
        for what in (DELTAS, WORDS):
            score = by_repository[name][what]
            if score.labelled or score.look_alikes:
                out.append(
                    score.row()
                    | {
                        "what": f"{name.split('__')[-1]}: {what}",
                        "repository": name,
                        "rest_precision": round(rest[what].precision, 4),
                        "rest_recall": round(rest[what].recall, 4),
                    }
                )
    return out


def _sum(many: Sequence[Mapping[str, Score]] | Any) -> dict[str, Score]:
    total = scores()
    for one in many:
        for what, score in one.items():
            total[what].add(score)
    return total
