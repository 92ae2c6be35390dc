"""Precision and recall of the detectors, and of the gate behind them, on hand labels, by repository and by agent.

A labels file names, in session files, failures with the call that fixed them (delta), failures that only look so
(neg_delta), corrections, and messages that only look so (neg_correction). Labels are not exhaustive: what is not
labelled counts neither way. What is scored is what `spanlore mine --transcript FILE --json` prints: the lines that are
not `dropped`, and of those the ones that the gate keeps (`gate`). The gate is strict by design: most of what the
detectors find is right and of no use to another session, so its recall is no goal; what it lets through is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import orjson

from spanlore.redaction.redact import Redactor
from spanlore_extractor.evaluation.findings import DROPPED, find_all
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
KEPT: Final = "… kept by the gate"
WORDS: Final = "corrections"
RULES: Final = "… stated as standing rules"
KEPT_WORDS: Final = "corrections kept by the gate"
JUNK: Final = "kept by the gate, no junk"


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
    return {what: Score(what) for what in (DELTAS, FIXES, KEPT, WORDS, RULES, KEPT_WORDS, JUNK)}


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
    by_agent: dict[str, dict[str, Score]] = defaultdict(scores)
    sessions: dict[str, _Found] = {}
    for label in labels:
        file = label["file"]
        if file not in sessions:
            sessions[file] = _found(folder, file, redactor)
        for into in (by_repository[file.split("/")[-2]], by_agent[file.split("/")[-3]]):
            score_label(label, sessions[file].deltas, sessions[file].corrections, into)
    return _report(by_repository, by_agent, len(sessions))


def score_label(
    label: Mapping[str, Any],
    deltas: Mapping[str, Mapping[str, Any]],
    corrections: Mapping[int, Mapping[str, Any]],
    into: Mapping[str, Score],
) -> None:
    """Counts one label; the findings by failing call and by line.

    Junk is what the gate keeps although it is no lesson, names the wrong fix, or is marked as trivial by the labels.
    """
    if label["type"] in ("delta", "neg_delta"):
        is_one = label["type"] == "delta"
        delta = deltas.get(label["failed"]["tool_use_id"])
        is_right = is_one and delta is not None and delta["fix_call_id"] == label["fix"]["tool_use_id"]
        into[DELTAS].count(label, is_one, delta is not None)
        if is_one and delta is not None:
            into[FIXES].count(label, True, True, is_right)
        into[KEPT].count(label, is_one, _is_kept(delta), is_right)
        if _is_kept(delta):
            into[JUNK].count(label, True, True, is_right and not label.get("trivial"))
    elif label["type"] in ("correction", "neg_correction"):
        is_one = label["type"] == "correction"
        correction = corrections.get(label["at"]["line"])
        into[WORDS].count(label, is_one, correction is not None)
        is_rule = correction is not None and correction["type"] == "standing rule"
        into[RULES].count(label, is_one and bool(label.get("durable")), is_rule)
        into[KEPT_WORDS].count(label, is_one, _is_kept(correction))
        if _is_kept(correction):
            into[JUNK].count(label, True, True, is_one)


def _is_kept(finding: Mapping[str, Any] | None) -> bool:
    return finding is not None and finding["gate"] not in (None, DROPPED)


def table(result: Mapping[str, Any]) -> str:
    """The report for people."""
    lines = [f"{'':<36}{'right':>6}{'wrong':>6}{'of':>5}{'precision':>10}{'recall':>7}"]
    lines += [_line(row) for row in result["rows"]]
    for name in ("repository", "agent"):
        lines += ["", f"By {name}; at the very right with it left out:"]
        lines += [_line(row) for row in result[f"by_{name}"]]
    return "\n".join(lines)


def _line(row: Mapping[str, Any]) -> str:
    text = (
        f"{row['what'][:36]:<36}{row['right']:>6}{row['wrong']:>6}{row['labelled']:>5}"
        f"{row['precision']:>10.2f}{row['recall']:>7.2f}"
    )
    if "rest_precision" in row:
        return f"{text}{row['rest_precision']:>5.2f}{row['rest_recall']:>5.2f}"
    return text


def _found(folder: Path, file: str, redactor: Redactor) -> _Found:
    findings = [one for one in find_all(read_session(folder, file), {}, redactor) if not one["dropped"]]
    return _Found(
        {one["failed_call_id"]: one for one in findings if one["kind"] == "failure_delta"},
        {one["at"]["line"]: one for one in findings if one["kind"] in ("correction", "explicit")},
    )


def _report(
    by_repository: Mapping[str, Mapping[str, Score]], by_agent: Mapping[str, Mapping[str, Score]], sessions: int
) -> dict[str, Any]:
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
        "by_repository": _each(by_repository, "repository"),
        "by_agent": _each(by_agent, "agent"),
        "sessions": sessions,
        "budgets": BUDGETS,
        "within_budget": within,
    }


def _each(by_name: Mapping[str, Mapping[str, Score]], sort: str) -> list[dict[str, Any]]:
    """Each repository (agent) alone, and all the others without it. The rules are the same in both: they have nothing
    fitted to one, so the spread between them is what another one is to be expected to bring."""
    out = []
    for name in sorted(by_name):
        rest = _sum([one for other, one in by_name.items() if other != name])
        for what in (DELTAS, WORDS, JUNK):
            score = by_name[name][what]
            if score.labelled or score.look_alikes:
                out.append(
                    score.row()
                    | {
                        "what": f"{name.split('__')[-1]}: {what}",
                        sort: name,
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
