"""Media becomes a hash and a size."""

from __future__ import annotations

import hashlib

from spanlore.genai.messages import Blob, Uri
from spanlore_proxy.wire.media import from_base64, from_url

SHA = hashlib.sha256(b"abc").hexdigest()


def test_inline_media_is_hashed() -> None:
    """The bytes themselves are not kept."""
    assert from_base64("YWJj", "image", "image/png") == Blob("image", "image/png", SHA, 3)
    assert from_url("data:image/png;base64,YWJj", "image") == Blob("image", "image/png", SHA, 3)
    assert from_url("data:,abc", "document") == Blob("document", None, SHA, 3)


def test_what_is_no_base64_counts_as_it_stands() -> None:
    """Redacted recordings and broken clients."""
    assert from_base64("ab?", "audio", None).size_bytes in (1, 3)
    assert from_base64(None, "audio", None).size_bytes == 0


def test_references_stay_references() -> None:
    """A URL, or nothing at all."""
    assert from_url("https://example.com/a.png", "image") == Uri("image", "https://example.com/a.png")
    assert from_url("", "image") is None
    assert from_url(7, "image") is None
