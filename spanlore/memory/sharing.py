"""Whose memories a repository reads: its own, those of the repositories it was forked from, and the user's.

A fork reads its upstream and writes its own. What was learned in a private repository is never shown in a public one:
which are public is the user's to say (`memory.public_repositories`), and where nothing is said everything is private.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from spanlore.memory.memory import USER_SCOPE, Memory

MAX_FORKS: Final = 4
"""How many generations of forks are followed."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """What is known of how repositories belong together."""

    forks: Mapping[str, str] = field(default_factory=dict)
    """Scope of a fork → scope of what it was forked from."""
    public: tuple[str, ...] = ()
    """Scope keys of public repositories; `*` matches."""

    def scopes(self, scope: str) -> tuple[str, ...]:
        """The scopes read for a repository, its own first, the user's last."""
        if scope == USER_SCOPE:
            return (USER_SCOPE,)
        out = [scope]
        while len(out) <= MAX_FORKS and (parent := self.forks.get(out[-1], "")) and parent not in (*out, USER_SCOPE):
            out.append(parent)
        return (*out, USER_SCOPE)

    def lets(self, memory: Memory, scope: str) -> bool:
        """Whether the memory may be shown in that repository."""
        if not self.public or memory.scope == scope or not self.is_public(scope):
            return True
        origins = memory.origins or (() if memory.scope == USER_SCOPE else (memory.scope,))
        return all(origin == scope or self.is_public(origin) for origin in origins)

    def is_public(self, scope: str) -> bool:
        """Whether the user named it as public."""
        return any(fnmatch.fnmatchcase(scope, pattern) for pattern in self.public)


def sharing_to_json(sharing: Sharing) -> dict[str, Any]:
    """{forks, public}."""
    return {"forks": dict(sharing.forks), "public": list(sharing.public)}


def sharing_from_json(data: Any) -> Sharing:
    """The inverse; what is not understood is left out."""
    if not isinstance(data, dict):
        return Sharing()
    forks, public = data.get("forks"), data.get("public")
    return Sharing(
        {str(key): str(value) for key, value in forks.items()} if isinstance(forks, dict) else {},
        tuple(str(item) for item in public) if isinstance(public, list) else (),
    )
