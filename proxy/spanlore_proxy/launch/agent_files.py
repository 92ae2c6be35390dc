"""What agents' own files say about where they send their requests. A file that cannot be read says nothing."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def codex_config(environ: Mapping[str, str]) -> Mapping[str, Any]:
    """codex's config.toml."""
    try:
        return tomllib.loads((_codex_home(environ) / "config.toml").read_text())
    except (OSError, ValueError):
        return {}  # codex itself will tell


def has_chatgpt_login(environ: Mapping[str, str]) -> bool:
    """Whether codex asks chatgpt.com, by its auth.json: tokens, and no key."""
    if environ.get("CODEX_API_KEY"):
        return False
    known = read_object(_codex_home(environ) / "auth.json")
    return bool(known.get("tokens")) and not known.get("OPENAI_API_KEY")


def gemini_auth(environ: Mapping[str, str]) -> str:
    """The login that Gemini CLI's settings.json selects; '' if none."""
    found: Any = read_object(Path(environ.get("HOME", "/")) / ".gemini" / "settings.json")
    for key in ("security", "auth", "selectedType"):
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, str) else ""


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object; empty when it is none."""
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _codex_home(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("CODEX_HOME") or Path(environ.get("HOME", "/")) / ".codex")
