"""Items that can't be read are counted, and the others kept."""

from __future__ import annotations

from spanlore.otlp.json_items import Rejected, readable


def test_what_can_be_read_is_kept_in_order() -> None:
    """The reason is that of the first; an error's text is cut."""
    rejected = Rejected()
    kept = readable(["1", "x" * 1000, "3", None], int, rejected)

    assert kept == ["1", "3"]
    assert rejected.count == 2
    assert "xxx" in rejected.why and len(rejected.why) < 400
