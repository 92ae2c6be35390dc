"""Terminal captures that the README shows: small, whole, and fetching nothing."""

import re
from pathlib import Path

CAPTURES = Path(__file__).parents[1] / "docs" / "captures"
MAX_BYTES = 40_000


def test_captures_are_small_and_fetch_nothing() -> None:
    """Each SVG has its text beside it, of 80 columns, and names no address but SVG's own."""
    pictures = sorted(CAPTURES.glob("*.svg"))

    assert len(pictures) >= 6
    for picture in pictures:
        text = picture.read_text()
        assert len(text) < MAX_BYTES, picture.name
        assert set(re.findall(r"https?://[^\s\"')<]+", text)) == {"http://www.w3.org/2000/svg"}, picture.name
        plain = picture.with_suffix(".txt").read_text()
        assert plain.startswith("$ spanlore ")
        assert max(map(len, plain.splitlines())) <= 80
        assert "/tmp/" not in plain
