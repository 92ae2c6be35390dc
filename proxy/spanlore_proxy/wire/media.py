"""Inline and referenced media → parts. The bytes are not kept, only their hash and size."""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import Any
from urllib.parse import unquote_to_bytes

from spanlore.genai.messages import Blob, Uri


def from_base64(data: Any, modality: str, mime_type: str | None) -> Blob:
    """The blob of base64 text; of text that is none, the text's own bytes count."""
    content = _bytes(data if isinstance(data, str) else "")
    return Blob(modality, mime_type, hashlib.sha256(content).hexdigest(), len(content))


def from_url(url: Any, modality: str) -> Blob | Uri | None:
    """A blob for a `data:` URL, a reference for any other; None when it is no text."""
    if not isinstance(url, str) or not url:
        return None
    if not url.startswith("data:"):
        return Uri(modality, url)
    head, _, data = url[5:].partition(",")
    mime_type = head.partition(";")[0] or None
    if head.endswith(";base64"):
        return from_base64(data, modality, mime_type)
    content = unquote_to_bytes(data)
    return Blob(modality, mime_type, hashlib.sha256(content).hexdigest(), len(content))


def _bytes(data: str) -> bytes:
    try:
        return base64.b64decode(data)
    except (binascii.Error, ValueError):
        return data.encode("utf-8", "replace")
