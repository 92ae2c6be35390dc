"""The table of readers."""

from spanlore_proxy.conversation.dialects import READERS
from spanlore_proxy.wire.dialect import BUILT


def test_every_dialect_that_is_recognised_can_be_read() -> None:
    """A dialect with a codec and without a reader would lose its conversations."""
    assert set(READERS) >= BUILT
