"""Labelled chains of failing calls and their fixes (`chains.txt`), written as any agent's session file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha1
from pathlib import Path

from spanlore.genai.messages import ToolCall
from spanlore.transcripts.events import Answered, Event
from spanlore.transcripts.reading import read_transcript
from spanlore_extractor.evaluation.building import session_of
from spanlore_extractor.mining.failures import find_deltas
from support.authored import WRITERS, Answers, Edits, Reads, Runs, Says, Step, call_ids

_CHAINS = Path(__file__).parent / "chains.txt"
_WINDOW_NS = 600 * 10**9


@dataclass(frozen=True)
class Chain:
    """One script: its failing calls and what may be named as the fix, nothing where none is."""

    name: str
    ecosystem: str
    failing: tuple[str, ...]
    fixes: tuple[str, ...]
    steps: tuple[Step, ...]

    @property
    def is_held_out(self) -> bool:
        """In the half that was looked at last, after it had been measured."""
        return sha1(self.name.encode(), usedforsecurity=False).digest()[-1] % 2 == 0

    def can_be_told_by(self, agent: str) -> bool:
        """Whether that agent's file has all that the script needs: in a trajectory nobody speaks, and there is no tool
        but the shell whose refusals could be told."""
        has_only_a_shell = agent in ("swe-agent", "mini-swe-agent")
        return not has_only_a_shell or not any(
            isinstance(step, Says) or (isinstance(step, Edits) and step.error) for step in self.steps[1:]
        )

    def printing(self, shown: Callable[[str], str]) -> Chain:
        """The same with whatever programs and tools print as `shown` has it."""
        steps = tuple(
            replace(step, output=shown(step.output))
            if isinstance(step, Runs)
            else replace(step, error=step.error and shown(step.error))
            if isinstance(step, Edits | Reads)
            else step
            for step in self.steps
        )
        return replace(self, steps=steps)

    def found(self, agent: str, tool: Callable[[str], str] = str) -> dict[str, str]:
        """What the detector finds in that agent's file: failing call → fix, ids of the script. `tool` gives the tools
        other names."""
        ids = call_ids(agent, self.steps)
        back = {theirs: ours for ours, theirs in ids.items()}
        transcript = read_transcript(WRITERS[agent](self.steps))
        events = tuple(_renamed(event, tool) for event in transcript.events)
        session = session_of(replace(transcript, events=events), "github.com/example/shop")
        deltas = find_deltas(session.conversations[0], _WINDOW_NS).deltas
        return {
            back[one.tool_call_id]: back.get(delta.fix.tool_call_id, "")
            for delta in deltas
            for one in delta.chain
            if back.get(one.tool_call_id) in self.failing
        }


def _renamed(event: Event, tool: Callable[[str], str]) -> Event:
    if isinstance(event, Answered) and isinstance(event.part, ToolCall):
        return replace(event, part=replace(event.part, name=tool(event.part.name)))
    return event


def chains() -> Iterator[Chain]:
    """All of them, in the order of the file."""
    text = "\n".join(line for line in _CHAINS.read_text().splitlines() if not line.startswith("#"))
    for block in f"\n{text}".split("\n== ")[1:]:
        head, *lines = block.strip().splitlines()
        name, ecosystem, _ = (word.strip() for word in head.split("|"))
        yield _chain(name, ecosystem, [line for line in lines if line])


def _chain(name: str, ecosystem: str, lines: list[str]) -> Chain:
    steps: list[Step] = [Says("go on with the shop"), Runs("b1", "git log --oneline -2", "abc add prices")]
    failing: list[str] = []
    fixes: list[str] = []
    for number, line in enumerate(lines):
        if line.startswith("say "):
            steps.append(Says(line.removeprefix("say ")))
            continue
        marker, _, rest = line.partition(" ")
        id_ = f"call_{number}"
        steps.append(_step(id_, rest))
        if marker == "F":
            failing.append(id_)
        elif marker in "Xx":
            fixes.append(id_)
    steps += [Runs("e1", "git diff --stat", " 2 files changed"), Answers("That is done.")]
    return Chain(name, ecosystem, tuple(failing), tuple(fixes), tuple(steps))


def _step(id_: str, text: str) -> Step:
    kind, _, rest = text.partition(" ")
    fields = [field.strip().replace("⏎", "\n") for field in rest.split(" | ")]
    fields += [""] * (4 - len(fields))
    match kind:
        case "run":
            return _run(id_, rest)
        case "edit":
            return Edits(id_, fields[0], fields[1], fields[2], fields[3].removesuffix("|").strip())
        case _:
            return Reads(id_, fields[0], error=fields[1])


def _run(id_: str, rest: str) -> Runs:
    """The exit code is the first field that is a number: commands have pipes, too."""
    fields = rest.split(" | ")
    at = next(index for index, field in enumerate(fields) if index and field.strip(" |").isdecimal())
    output = " | ".join(fields[at + 1 :]).replace("⏎", "\n")
    return Runs(id_, " | ".join(fields[:at]).replace("⏎", "\n"), output, int(fields[at].strip(" |")))
