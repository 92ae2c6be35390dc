"""Labelled turns of people (`turns.txt`), each set into a session file of one of the agents that people talk to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path

from spanlore.transcripts.reading import read_transcript
from spanlore_extractor.evaluation.building import session_of
from spanlore_extractor.mining.corrections import find_corrections
from support.authored import SPOKEN, WRITERS, Answers, Edits, Runs, Says, Step

_TURNS = Path(__file__).parent / "turns.txt"
_BEGIN: tuple[Step, ...] = (
    Says("Fix the failing date parser test"),
    Runs("c1", "pytest -q tests/test_dates.py", "1 failed", 1),
    Edits("c2", "src/dates.py"),
    Runs("c3", "pytest -q tests/test_dates.py", "1 passed"),
)
_REFUSING = ("claude-code", "opencode", "copilot-cli")
"""Agents whose files keep what a person said when refusing a call."""


@dataclass(frozen=True)
class Turn:
    """One message with its label."""

    is_correction: bool
    after: str
    text: str

    @property
    def is_held_out(self) -> bool:
        """In the half that was looked at last, after it had been measured."""
        return sha1(self.text.encode(), usedforsecurity=False).digest()[-1] % 2 == 0

    @property
    def agent(self) -> str:
        """Whose file it is put into; one of those that can say it."""
        can = ("claude-code",) if self.after == "M" else _REFUSING if self.after == "R" else SPOKEN
        return can[sha1(self.text.encode(), usedforsecurity=False).digest()[0] % len(can)]

    def steps(self) -> tuple[Step, ...]:
        """The session's script, with the turn last."""
        match self.after:
            case "Q":
                return (
                    *_BEGIN,
                    Answers("It passes. Should I also set the flag for the other parser?"),
                    Says(self.text),
                )
            case "I":
                return (*_BEGIN, Runs("c4", "grep -rn parse src", "x"), Says(self.text, "interruption"))
            case "R":
                return (*_BEGIN, Runs("c4", "npm install left-pad", refused=self.text))
            case "M":
                return (*_BEGIN, Says(self.text, "queued"), Runs("c4", "ls", "x"))
            case _:
                return (*_BEGIN, Answers("Done. I changed the parser and the test passes now."), Says(self.text))

    def is_found(self) -> bool:
        """Whether the detector takes it for a correction."""
        session = session_of(read_transcript(WRITERS[self.agent](self.steps())), "github.com/example/shop")
        found, _ = find_corrections(session.conversations[0])
        return any(one.step.text.strip() == self.text.strip() for one in found)


def turns() -> Iterator[Turn]:
    """All of them, in the order of the file."""
    for line in _TURNS.read_text().splitlines():
        if line and not line.startswith("#"):
            label, after, text = line.split("|", 2)
            yield Turn(label == "+", after, text.replace("⏎", "\n"))
