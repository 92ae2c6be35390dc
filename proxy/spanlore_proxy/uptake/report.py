"""The answers as a table: how often the memory's command was named, in each arm, and what differs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, Final

from spanlore_proxy.uptake.arms import BLOCK, HINT, NONE, PLACEBO_BLOCK, PLACEBO_HINT, Arm, Moment
from spanlore_proxy.uptake.asking import Answer
from spanlore_proxy.uptake.estimate import Share, paired

LIMITS: Final = (
    "Made-up lessons, one memory a block, short requests: it shows that a model reads the memory where it stands, not"
    " that sessions get better."
)
COMPARED: Final = (
    (BLOCK, NONE, Moment.TASK),
    (BLOCK, PLACEBO_BLOCK, Moment.TASK),
    (BLOCK, NONE, Moment.FAILURE),
    (HINT, NONE, Moment.FAILURE),
    (HINT, PLACEBO_HINT, Moment.FAILURE),
    (HINT, BLOCK, Moment.FAILURE),
)
"""One arm minus another, at the moment."""
_ROWS: Final = (
    (NONE, Moment.TASK),
    (PLACEBO_BLOCK, Moment.TASK),
    (BLOCK, Moment.TASK),
    (NONE, Moment.FAILURE),
    (PLACEBO_HINT, Moment.FAILURE),
    (BLOCK, Moment.FAILURE),
    (HINT, Moment.FAILURE),
)


def report(answers: Iterable[Answer], wordings: Sequence[str], model: str) -> dict[str, Any]:
    """The command's one object. The first wording is the one that the others are compared with."""
    told = _Told(answers)
    rows = [told.row(arm, moment, wording) for arm, moment in _ROWS for wording in _wordings(arm, wordings)]
    differences = [
        told.difference(f"{one.name} − {other.name}", moment, wording, (one, wording), (other, wording))
        for wording in wordings
        for one, other, moment in COMPARED
    ]
    first, *others = wordings
    differences += [
        told.difference(f"{arm.name}: {wording} − {first}", moment, wording, (arm, wording), (arm, first))
        for wording in others
        for arm, moment in ((BLOCK, Moment.TASK), (BLOCK, Moment.FAILURE), (HINT, Moment.FAILURE))
    ]
    return {
        "bench": "eval uptake",
        "model": model,
        "label": LIMITS,
        "rows": [row for row in rows if row["lessons"]],
        "differences": [row for row in differences if row["lessons"]],
        "budgets": {},
        "within_budget": True,
    }


class _Told:
    """Answers by what was asked."""

    def __init__(self, answers: Iterable[Answer]) -> None:
        self._by: dict[tuple[str, str, str], dict[int, Answer]] = {}
        for answer in answers:
            self._by.setdefault((answer.arm, answer.moment, answer.wording), {})[answer.lesson] = answer

    def of(self, arm: Arm, moment: Moment, wording: str) -> dict[int, Answer]:
        return self._by.get((arm.name, moment.value, wording if arm.is_shown else ""), {})

    def row(self, arm: Arm, moment: Moment, wording: str) -> dict[str, Any]:
        found = list(self.of(arm, moment, wording).values())
        named = Share(sum(answer.is_named for answer in found), len(found))
        low, high = named.interval
        return {
            "what": f"{moment.value}: {arm.name}" + (f", {wording}" if arm.is_shown else ""),
            "moment": moment.value,
            "arm": arm.name,
            "wording": wording if arm.is_shown else "",
            "lessons": len(found),
            "named": named.hits,
            "named_share": round(named.value, 4),
            "low": round(low, 4),
            "high": round(high, 4),
            "misled": sum(answer.is_misled for answer in found),
            "repeated": sum(answer.is_repeated for answer in found),
            "exposed_tokens": self._exposed(arm, moment, wording),
        }

    def _exposed(self, arm: Arm, moment: Moment, wording: str) -> float:
        """Mean of what the request had more than without a memory."""
        bare = self.of(NONE, moment, "")
        more = [
            answer.prompt_tokens - bare[lesson].prompt_tokens
            for lesson, answer in self.of(arm, moment, wording).items()
            if lesson in bare and answer.prompt_tokens and bare[lesson].prompt_tokens
        ]
        return round(sum(more) / len(more), 1) if more else 0.0

    def difference(
        self, what: str, moment: Moment, wording: str, one: tuple[Arm, str], other: tuple[Arm, str]
    ) -> dict[str, Any]:
        first, second = self.of(one[0], moment, one[1]), self.of(other[0], moment, other[1])
        shared = sorted(first.keys() & second.keys())
        found = paired([first[n].is_named for n in shared], [second[n].is_named for n in shared])
        told = {name: round(value, 4) for name, value in asdict(found).items() if name not in ("count", "p")}
        return {
            "what": f"{moment.value}: {what}",
            "wording": wording,
            **told,
            "p": float(f"{found.p:.2g}"),
            "lessons": found.count,
        }


def table(result: dict[str, Any]) -> str:
    """The same for people, at 80 columns."""
    head = f"{'':42}{'of':>5}{'named':>7}{'95 %':>10}{'misled':>7}{'tokens':>8}"
    lines = [f"{result['model']}: share of answers that name the memory's command or path", "", head]
    for row in result["rows"]:
        between = f"{row['low'] * 100:.0f}–{row['high'] * 100:.0f} %"
        misled = f"{row['misled'] / row['lessons'] * 100:.0f} %"
        lines.append(
            f"{row['what']:42}{row['lessons']:>5}{row['named_share'] * 100:>5.0f} %{between:>10}{misled:>7}"
            f"{row['exposed_tokens']:>8.0f}"
        )
    lines += ["", f"{'difference over the same lessons, points':51}{'':>5}{'95 %':>14}{'p':>9}"]
    for row in result["differences"]:
        between = f"{row['low'] * 100:+.0f}…{row['high'] * 100:+.0f}"
        what = row["what"] if row["wording"] in row["what"] else f"{row['what']}, {row['wording']}"
        lines.append(f"{what:50}{row['value'] * 100:>+6.0f}{between:>14}{row['p']:>9.2g}")
    lines += [
        "",
        "misled: names the placebo's; tokens: more than without a memory, the model's own",
        *_wrapped(result["label"]),
    ]
    return "\n".join(lines)


def _wrapped(text: str, width: int = 80) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) + 1 > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _wordings(arm: Arm, wordings: Sequence[str]) -> Sequence[str]:
    return wordings if arm.is_shown else ("",)
