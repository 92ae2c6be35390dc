"""Which hints a folder of real sessions would have got, and how many of them did not fit.

Each session is left out once (`left_out`): what the others teach is what is known in it. Twice: with the sessions of
the same repository, as it is in use, and with all sessions as if they were of one repository, which is harder than
anything in use. Beside failures without and with the rule of `spanlore.recall.fit`; behind prompts see `prompt_hints`,
for the block `session_blocks`.

Whether a hint beside a failure is right, the session itself says, which is not asked when hints are chosen:

- right: the session's own lesson from that failure says the same, or the call or path that the memory recommends is
  among the `MAX_STEPS` successful calls that follow;
- wrong: the session's own lesson is another one, or the memory is of another missing path;
- untold: the session never solved it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from spanlore.figures import one_line
from spanlore.memory.memory import Kind, Memory
from spanlore.recall.fit import Failed, weigh
from spanlore.recall.rank import Match, Tier
from spanlore.recall.snapshot import Snapshot
from spanlore.spans.place import Outcome
from spanlore_extractor.evaluation import prompt_hints, session_blocks
from spanlore_extractor.evaluation.corpus import WINDOW_NS, sessions_in
from spanlore_extractor.evaluation.left_out import left_out
from spanlore_extractor.mining.candidate import Candidate
from spanlore_extractor.mining.failures import find_deltas
from spanlore_extractor.mining.lessons import lesson_of
from spanlore_extractor.mining.session import Conversation, HumanStep, MinedSession, ToolStep

MAX_STEPS: Final = 25
MAX_WRONG_SHARE: Final = 0.05
MIN_RIGHT_KEPT: Final = 0.8
ALL: Final = "all.example/sessions"
_CODE: Final = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, slots=True)
class Hint:
    """A memory beside a failure."""

    memory: Memory
    step: ToolStep
    tier: Tier
    verdict: str
    """right, wrong, untold."""
    is_shown: bool
    """It fits."""


def evaluate(folder: Path) -> dict[str, Any]:
    """The counts, and every hint.

    Raises:
        OSError: a session can't be read.
    """
    sessions, skipped = sessions_in(folder)
    cases = {
        "same repository": list(left_out(sessions)),
        "all as one repository": list(left_out([replace(session, repository=ALL) for session in sessions])),
    }
    beside = {what: hints(known) for what, known in cases.items()}
    behind = {
        what: [hint for one in known for hint in prompt_hints.prompt_hints(*one)] for what, known in cases.items()
    }
    rows = [
        row
        for what, found in beside.items()
        for row in (_row(f"{what}, found", found), _row(f"{what}, fitting", [hint for hint in found if hint.is_shown]))
    ]
    kept = [_kept(row["right"], before["right"]) for before, row in zip(rows[::2], rows[1::2], strict=True)]
    for row, share in zip(rows[1::2], kept, strict=True):
        row["right_kept"] = share
    wrong = [row["wrong_share"] for row in rows[1::2] if row["wrong_share"] is not None]
    return {
        "bench": "eval hints",
        "rows": rows,
        "prompt_rows": [
            prompt_hints.row(f"{what}, {kind}", [hint for hint in found if hint.kind == kind], _prompts(sessions))
            for what, found in behind.items()
            for kind in ("task", "family")
        ],
        "block_rows": [
            session_blocks.row(what, [told for one in known for told in session_blocks.told_in(*one)], len(known))
            for what, known in cases.items()
        ],
        "hints": [_told(hint) for hint in beside["all as one repository"]],
        "prompt_hints": [prompt_hints.told(hint) for found in behind.values() for hint in found],
        "sessions": len(sessions),
        "skipped_files": skipped,
        "budgets": {"wrong_share": MAX_WRONG_SHARE, "right_kept": MIN_RIGHT_KEPT},
        "within_budget": all(share < MAX_WRONG_SHARE for share in wrong)
        and all(share >= MIN_RIGHT_KEPT for share in kept if share is not None),
    }


def _prompts(sessions: Iterable[MinedSession]) -> int:
    steps = (step for session in sessions for one in session.conversations for step in one.steps)
    return sum(
        isinstance(step, HumanStep) and len(step.text.strip()) >= prompt_hints.MIN_PROMPT_CHARS for step in steps
    )


def hints(known: Iterable[tuple[MinedSession, Snapshot]]) -> list[Hint]:
    """Every session's, from what the others of its repository teach."""
    return [hint for session, snapshot in known for hint in _of_session(session, snapshot)]


def _of_session(session: MinedSession, known: Snapshot) -> Iterator[Hint]:
    for conversation in session.conversations:
        lessons = _lessons(conversation, session)
        for place, step in enumerate(conversation.steps):
            if not isinstance(step, ToolStep) or step.outcome is not Outcome.FAILURE or not step.signature:
                continue
            found = known.answering(session.repository, session.harness, step.signature, step.program, step.error_class)
            weighed = weigh(found, Failed(step.program, step.command, step.error_line))
            later = [one for one in conversation.steps[place + 1 :] if isinstance(one, ToolStep)][:MAX_STEPS]
            before, after = _chosen(found), [one.match for one in weighed if not one.cut]
            for match in dict.fromkeys((*before, *after)):
                verdict = _verdict(match.memory, step, lessons.get(step.span_id), later)
                yield Hint(match.memory, step, match.tier, verdict, match in after)


def _chosen(matches: Sequence[Match]) -> Sequence[Match]:
    """What would stand there if all fitted: all of the very same failure, else the best one."""
    return [match for match in matches if match.tier is Tier.SIGNATURE] or matches[:1]


def _lessons(conversation: Conversation, session: MinedSession) -> Mapping[str, Candidate]:
    """Failing call's span → what the session itself learned from it."""
    out: dict[str, Candidate] = {}
    for delta in find_deltas(conversation, WINDOW_NS).deltas:
        lesson = lesson_of(delta, session)
        if isinstance(lesson, Candidate):
            out.update((step.span_id, lesson) for step in delta.chain)
    return out


def _verdict(memory: Memory, step: ToolStep, lesson: Candidate | None, later: Iterable[ToolStep]) -> str:
    if lesson is not None and (lesson.kind, lesson.value) == (memory.kind, memory.value):
        return "right"
    if memory.kind is Kind.LOCATION and memory.slot == "path" and not step.command.endswith(memory.subject):
        return "wrong"
    # Another tool, as a way around one that fails, is used by everybody for something.
    if memory.kind is not Kind.HARNESS and _is_done(memory, later):
        return "right"
    return "untold" if lesson is None else "wrong"


def _is_done(memory: Memory, later: Iterable[ToolStep]) -> bool:
    remedy = (_CODE.findall(memory.text) or [memory.value])[-1]
    return any(step.outcome is Outcome.SUCCESS and remedy in f"{step.tool_name} {step.command}" for step in later)


def _row(what: str, found: Sequence[Hint]) -> dict[str, Any]:
    counts = Counter(hint.verdict for hint in found)
    told = counts["right"] + counts["wrong"]
    return {
        "what": what,
        "hints": len(found),
        "right": counts["right"],
        "wrong": counts["wrong"],
        "untold": counts["untold"],
        "wrong_share": round(counts["wrong"] / told, 3) if told else None,
    }


def _kept(after: int, before: int) -> float | None:
    return round(after / before, 3) if before else None


def _told(hint: Hint) -> dict[str, Any]:
    step = hint.step
    return {
        "verdict": hint.verdict,
        "shown": hint.is_shown,
        "tier": hint.tier.name.lower(),
        "command": one_line(step.command or step.tool_name, 160),
        "error": one_line(step.error_line, 160),
        "memory": hint.memory.text,
    }


def table(result: Mapping[str, Any]) -> str:
    """The same for people."""
    lines = [f"{'':34}{'hints':>7}{'right':>7}{'wrong':>7}{'untold':>8}{'wrong':>8}{'kept':>7}"]
    for row in result["rows"]:
        share, kept = row["wrong_share"], row.get("right_kept")
        lines.append(
            f"{row['what']:34}{row['hints']:>7}{row['right']:>7}{row['wrong']:>7}{row['untold']:>8}"
            f"{'–' if share is None else f'{share:.1%}':>8}{'' if kept is None else f'{kept:.0%}':>7}"
        )
    lines += [
        "found: same failure, or same program and class; fitting: what the proxy shows.",
        "wrong %: of right and wrong ones; kept: right ones that are still shown.",
        "",
        f"{'behind prompts':34}{'hints':>7}{'right':>7}{'wrong':>7}{'unread':>8}{'wrong':>8}{'kept':>7}{'cut':>5}",
    ]
    for row in result["prompt_rows"]:
        share, kept = row["wrong_share"], row["right_kept"]
        lines.append(
            f"{row['what']:34}{row['hints']:>7}{row['right']:>7}{row['wrong']:>7}{row['unread']:>8}"
            f"{'–' if share is None else f'{share:.1%}':>8}{'–' if kept is None else f'{kept:.0%}':>7}"
            f"{row['cut_wrong']:>5}"
        )
    lines += [
        "read by eye; kept: of all right ones that were read, those that are shown;",
        "cut: wrong ones that were read and are not shown.",
        "",
        f"{'block':26}{'shown':>6}{'failed':>7}{'done':>6}{'stated':>7}{'no':>5}{'tokens':>8}{'used':>7}{'kept':>6}",
    ]
    for row in result["block_rows"]:
        lines.append(
            f"{row['what']:26}{row['shown']:>6}{row['failed']:>7}{row['done']:>6}{row['stated']:>7}{row['no']:>5}"
            f"{row['tokens']:>8}{row['tokens_used']:>7}{'–' if row['kept'] is None else format(row['kept'], '.0%'):>6}"
        )
    lines += [
        "failed: the session ran into it; done: it did so by itself; stated: a",
        "person's rule, nobody can tell; used: tokens of the first two; kept: of all",
        "known memories that came up, those in the block.",
    ]
    return "\n".join(lines)


def listing(result: Mapping[str, Any]) -> Iterator[str]:
    """Every hint behind a prompt, and those beside failures of all sessions as one repository, for reading; those that
    are alike once."""
    seen: set[tuple[str, str]] = set()
    for one in result["prompt_hints"]:
        if (one["key"], one["kind"]) not in seen:
            seen.add((one["key"], one["kind"]))
            shown = "shown" if one["shown"] else "not shown"
            yield f"{one['key']} {one['verdict']}, {shown}, {one['kind']}: {one['prompt']}\n  {one['memory']}"
    counts = Counter(
        (one["verdict"], one["shown"], one["tier"], one["command"], one["error"], one["memory"])
        for one in result["hints"]
    )
    for (verdict, is_shown, tier, command, error, memory), count in sorted(counts.items(), key=str):
        shown = "shown" if is_shown else "not shown"
        yield f"{count} × {verdict}, {shown}, by {tier}: {command}\n  {error}\n  {memory}"
