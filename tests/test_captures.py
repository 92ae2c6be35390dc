"""Terminal captures that the README shows: small, whole, and fetching nothing."""

import re
from pathlib import Path

CAPTURES = Path(__file__).parents[1] / "docs" / "captures"
MAX_BYTES = 40_000


def test_captures_are_small_and_fetch_nothing() -> None:
    """Each SVG has its text beside it, of 80 columns, and names no address but SVG's own and, as
    text, the page on this machine."""
    pictures = sorted(CAPTURES.glob("*.svg"))

    assert len(pictures) >= 6
    for picture in pictures:
        text = picture.read_text()
        assert len(text) < MAX_BYTES, picture.name
        addresses = set(re.findall(r"https?://[^\s\"')<]+", text))
        elsewhere = {address for address in addresses if not address.startswith("http://127.0.0.1:")}
        assert elsewhere == {"http://www.w3.org/2000/svg"}, picture.name
        assert not re.search(r"(href|src|url)\W{1,3}http://127", text), picture.name
        plain = picture.with_suffix(".txt").read_text()
        assert plain.startswith("$ spanlore ")
        assert max(map(len, plain.splitlines())) <= 80
        assert "/tmp/" not in plain
