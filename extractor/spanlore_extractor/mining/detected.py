"""What the detectors find in one conversation: each looks once, when first asked, whoever else wants to know."""

from __future__ import annotations

from functools import cached_property

from spanlore_extractor.mining.confirmation import Confirmation, find_confirmations
from spanlore_extractor.mining.corrections import Correction, NoCorrection, find_corrections
from spanlore_extractor.mining.explicit import Statement, find_statements
from spanlore_extractor.mining.failures import Findings, find_deltas
from spanlore_extractor.mining.session import Conversation, MinedSession


class Detected:
    """One conversation and its findings. Pure: the same whenever it is asked."""

    def __init__(self, conversation: Conversation, window_ns: int) -> None:
        self.conversation = conversation
        self._window_ns = window_ns

    @cached_property
    def failures(self) -> Findings:
        """Failures with their fixes, and those that teach nothing."""
        return find_deltas(self.conversation, self._window_ns)

    @cached_property
    def corrections(self) -> tuple[list[Correction], list[NoCorrection]]:
        """The person's messages, told apart."""
        return find_corrections(self.conversation)

    @cached_property
    def statements(self) -> list[Statement]:
        """What the person asked to remember."""
        return find_statements(self.conversation)

    @cached_property
    def confirmations(self) -> list[Confirmation]:
        """What says that the work was right."""
        return find_confirmations(self.conversation)[0]


def detect(session: MinedSession, window_ns: int) -> tuple[Detected, ...]:
    """One for each conversation of the session, in its order."""
    return tuple(Detected(conversation, window_ns) for conversation in session.conversations)
