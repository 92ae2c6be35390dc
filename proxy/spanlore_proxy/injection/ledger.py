"""Ledger: what was put where, so that it can be put there again.

The client never sees what spanlore inserted and so never sends it back; a prompt cache sees the insertion as part of
the prefix. Hence every placement is remembered as bytes and replayed in each later request of its conversation. An
entry is saved before the request that it speaks of leaves, and survives a restart of the proxy.

Values only; `capture.ledger_db` keeps them in SQLite.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final, Protocol


class PlacementKind(StrEnum):
    """What an insertion is."""

    SESSION_BLOCK = "session_block"
    """Last in the system prompt."""
    FAILURE_HINT = "failure_hint"
    """Beside a failing tool result."""
    TASK_HINT = "task_hint"
    """Behind a new prompt that names what a memory is about."""
    FAMILY_HINT = "family_hint"
    """Behind a prompt that asks for tests or a release."""


PROMPT_KINDS: Final = frozenset({PlacementKind.TASK_HINT, PlacementKind.FAMILY_HINT})
"""Those that stand behind a prompt; their anchor is the kind and the digest of the prompt's message."""


SYSTEM_ANCHOR: Final = "system"


@dataclass(frozen=True, slots=True)
class Placement:
    """One insertion, for the whole life of a conversation."""

    kind: PlacementKind
    anchor: str
    """`system`; the id of the tool call whose result it stands beside; `KIND:DIGEST` of the prompt it stands behind."""
    text: str
    """Exactly what was inserted, unescaped."""
    memory_ids: tuple[str, ...]
    message_digest: str = ""
    """32 hex digits: the anchor's message as it was. When the client drops or edits that message the hint goes too."""
    message_index: int = -1
    """Where that message stood, and mostly still stands."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What the ledger knows of one conversation."""

    conversation: str
    """16 hex digits, see `facts.conversation_key`."""
    is_decided: bool = False
    """The session block was decided: there is one among the placements, or there never will be."""
    has_answer: bool = False
    """A request with an assistant's message was seen. Kept only where the key is derived from the opening."""
    epoch: str = ""
    """Names the summary that the agent's newest compaction had left when the block was decided. A new one means that
    the agent itself has begun a new prefix."""
    is_off: bool = False
    """The prefix alarm was raised: nothing is inserted into this conversation any more."""
    placements: tuple[Placement, ...] = ()
    """The session block, if any, first; then hints in the order they were placed."""
    updated_at_ns: int = 0
    """When it was saved."""
    seed: str = ""
    """What draws the lots for withholding, of a conversation that goes on from another one: that one's."""
    origin: str = ""
    """Set in an entry that is only a sign (`lineage`): the conversation that is known by it."""

    @property
    def session_block(self) -> Placement | None:
        """The session block, if there is one."""
        return next((item for item in self.placements if item.kind is PlacementKind.SESSION_BLOCK), None)

    @property
    def hints(self) -> tuple[Placement, ...]:
        """All hints, oldest first."""
        return tuple(item for item in self.placements if item.kind is not PlacementKind.SESSION_BLOCK)


@dataclass(frozen=True, slots=True)
class Settled:
    """How far the model had come in a conversation."""

    messages: int
    """That it has answered; after a rewind some of them are the last ones again."""
    epoch: str
    """As in `Entry`."""


class LedgerStore(Protocol):
    """Where entries are kept."""

    def load(self, conversation: str) -> Entry | None:
        """The newest entry, None when the conversation is not known."""

    def save(self, entry: Entry) -> None:
        """Keeps the entry. When it returns, a killed proxy will still know it.

        Raises:
            OSError: it could not be kept; nothing new may be inserted then.
        """

    def settled(self, conversation: str) -> Settled | None:
        """How far the model had come when that was told last; None when it never was."""

    def settle(self, conversation: str, settled: Settled) -> None:
        """Tells it. It costs the request nothing: it is kept a moment later, and a killed proxy may never keep it."""


class MemoryLedger:
    """A ledger that forgets with the process: for dry runs and tests."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self._settled: dict[str, Settled] = {}

    def load(self, conversation: str) -> Entry | None:
        return self.entries.get(conversation)

    def save(self, entry: Entry) -> None:
        self.entries[entry.conversation] = entry

    def settled(self, conversation: str) -> Settled | None:
        return self._settled.get(conversation)

    def settle(self, conversation: str, settled: Settled) -> None:
        self._settled[conversation] = settled


def entry_to_json(entry: Entry) -> dict[str, Any]:
    """JSON object with the field names above."""
    return asdict(entry)


def entry_from_json(data: dict[str, Any]) -> Entry:
    """The inverse of `entry_to_json`; keys of a newer version are left out.

    Raises:
        ValueError: not an entry.
    """
    try:
        known = {key: value for key, value in data.items() if key in Entry.__dataclass_fields__}
        return Entry(**{**known, "placements": tuple(_placement(item) for item in data.get("placements") or ())})
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a ledger entry: {error}") from error


def _placement(data: dict[str, Any]) -> Placement:
    return Placement(
        kind=PlacementKind(data["kind"]),
        anchor=data["anchor"],
        text=data["text"],
        memory_ids=tuple(data["memory_ids"]),
        message_digest=data.get("message_digest", ""),
        message_index=data.get("message_index", -1),
    )
