"""What an agent works on, branch by branch, kept between sessions. Pure: a JSON text in, a JSON text out.

Switching away from a branch keeps its task; switching back gives it again; a branch that has none yet takes the task
along, unless it is not to.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

MAX_BRANCHES: Final = 50
"""Of one repository; the one that was left longest ago goes first."""
MAX_TASK_CHARS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Task:
    """What is being done on a branch."""

    text: str
    updated_at_ns: int

    def to_json(self) -> dict[str, Any]:
        return {"text": self.text, "updated_at_ns": self.updated_at_ns}


@dataclass(frozen=True, slots=True)
class Contexts:
    """Of one repository."""

    branch: str = ""
    """Where the last switch led; '' before there was one."""
    tasks: Mapping[str, Task] = field(default_factory=dict)

    @classmethod
    def from_json(cls, text: str | None) -> Self:
        """What can't be read is nothing."""
        try:
            data = json.loads(text or "{}")
            tasks = {
                str(branch): Task(str(task["text"]), int(task["updated_at_ns"]))
                for branch, task in dict(data.get("tasks", {})).items()
            }
            return cls(str(data.get("branch", "")), tasks)
        except (ValueError, TypeError, KeyError, AttributeError):
            return cls()

    def to_json(self) -> str:
        tasks = {branch: task.to_json() for branch, task in self.tasks.items()}
        return json.dumps({"branch": self.branch, "tasks": tasks})

    def task(self, branch: str) -> str:
        """What is being done on that branch; '' if nothing is known."""
        found = self.tasks.get(branch)
        return found.text if found else ""

    def switched(
        self, to: str, now_ns: int, *, task: str = "", here: str = "", carry: bool = True
    ) -> tuple[Self, bool]:
        """(the contexts after a switch to branch `to`, whether the task of the branch `here` was taken along).

        `task` is what is to be done there; without it what was known of that branch is taken up again.
        """
        text, carried = task.strip()[:MAX_TASK_CHARS], False
        if not text:
            text = self.task(to)
        if not text and carry:
            text = self.task(here)
            carried = bool(text) and here != to
        tasks = dict(self.tasks)
        if text:
            tasks[to] = Task(text, now_ns)
        kept = sorted(tasks.items(), key=lambda item: item[1].updated_at_ns)[-MAX_BRANCHES:]
        return replace(self, branch=to, tasks=dict(kept)), carried


def key_of(scope: str) -> str:
    """The key of a repository's contexts in the collector's mining state."""
    return f"context-{hashlib.blake2b(scope.encode(), digest_size=12).hexdigest()}"
