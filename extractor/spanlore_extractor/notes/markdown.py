"""One note: YAML front matter, observations `- [category] text #tag (context)`, relations `- relation [[Target]]`.

The form is Basic Memory's, so its tools, and Obsidian, read the folder. Of a memory's note a person may change the text
of its first observation, `pinned` and `status`; everything else is written anew each time. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import yaml

from spanlore.memory.categories import category_of
from spanlore.memory.memory import Memory
from spanlore_extractor.memories.wording import clip

TITLE_CHARS: Final = 70
MAX_NOTE_BYTES: Final = 256 * 1024
_FRONT: Final = re.compile(r"\A---\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.S)
_OBSERVATION: Final = re.compile(r"^- \[(?P<category>[^\]\n]{1,40})\] (?P<text>.+?)\s*$", re.M)
_TAGS: Final = re.compile(r"(?:\s+#[\w-]+)+$")
_CONTEXT: Final = re.compile(r"\s+\((?P<context>[^()\n]*)\)$")
_ESCAPED: Final = str.maketrans({"#": "\\#", "\\": "\\\\"})


class NoteError(ValueError):
    """A file is no note that can be read. The message says why."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One line of a note."""

    category: str
    text: str
    tags: tuple[str, ...] = ()
    context: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """A note as it was read."""

    front: Mapping[str, Any] = field(default_factory=dict)
    observations: tuple[Observation, ...] = ()

    @property
    def memory_id(self) -> str:
        """The memory it mirrors, '' for one that a person made."""
        return str(self.front.get("spanlore_id") or "")


def note_of(memory: Memory, session_titles: Mapping[str, str] | None = None) -> str:
    """The note of a memory. The same memory gives the same bytes."""
    category = category_of(memory).value
    title = clip(memory.text.replace("`", ""), TITLE_CHARS)
    front = {
        "title": title,
        "type": "memory",
        "permalink": f"spanlore/memories/{memory.id}",
        "tags": ["spanlore", memory.kind.value],
        "spanlore_id": memory.id,
        "scope": memory.scope,
        "kind": memory.kind.value,
        "category": category,
        "source": memory.source.value,
        "status": memory.status.value,
        "pinned": memory.pinned,
        "confidence": round(memory.confidence, 2),
        "sessions": memory.session_count,
        "created": _day(memory.created_at_ns),
        "updated": _day(memory.updated_at_ns),
    }
    if memory.sub_path:
        front["sub_path"] = memory.sub_path
    if memory.is_live and memory.valid_to_ns:
        front["until"] = _day(memory.valid_to_ns)
    if memory.harness:
        front["harness"] = memory.harness
    lines = [observation(Observation(category, memory.text, (memory.status.value,), _seen(memory)))]
    if memory.why and memory.why not in memory.text:
        lines.append(observation(Observation("why", clip(memory.why, 300))))
    if memory.note:
        lines.append(observation(Observation("status", clip(memory.note, 300))))
    relations = [("about", memory.scope)]
    if memory.superseded_by:
        relations.append(("superseded_by", memory.superseded_by))
    sessions = dict.fromkeys(item.session_id for item in memory.evidence)
    relations += [("learned_in", (session_titles or {}).get(key, f"session {key}")) for key in sessions]
    return assemble(front, title, lines, relations)


def assemble(
    front: Mapping[str, Any], title: str, observations: Sequence[str], relations: Iterable[tuple[str, str]]
) -> str:
    """The text of a note."""
    head = yaml.safe_dump(dict(front), sort_keys=False, allow_unicode=True, width=10_000).rstrip()
    related = [f"- {relation} [[{_target(target)}]]" for relation, target in relations]
    body = [f"# {title}", "", "## Observations", *observations, "", "## Relations", *related]
    return f"---\n{head}\n---\n\n" + "\n".join(body) + "\n"


def observation(item: Observation) -> str:
    """`- [category] text #tag (context)`; a `#` of the text itself is escaped."""
    tags = "".join(f" #{tag}" for tag in item.tags)
    context = f" ({item.context})" if item.context else ""
    return f"- [{item.category}] {' '.join(item.text.translate(_ESCAPED).split())}{tags}{context}"


class _Loader(yaml.SafeLoader):
    """Without aliases: a few of them, each of a list of the one before, stand for more than any memory holds."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not read")
        return super().compose_node(parent, index)


_NO_YAML: Final = (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError, RecursionError)
"""What PyYAML raises of its own accord, and what its constructors let through: `!!int ""` is an IndexError, `!!bool x`
a KeyError, `!!timestamp x` an AttributeError."""


def read_note(text: str) -> Note:
    """The note in a file.

    Raises:
        NoteError: too large, or its front matter is none.
    """
    if len(text.encode("utf-8", "replace")) > MAX_NOTE_BYTES:
        raise NoteError(f"it is larger than {MAX_NOTE_BYTES} bytes")
    found = _FRONT.match(text)
    if found is None:
        raise NoteError("it has no front matter")
    try:
        front = yaml.load(found[1], _Loader)  # noqa: S506 - a safe one
    except _NO_YAML as error:
        reason = str(error).splitlines() or [type(error).__name__]
        raise NoteError(f"its front matter is no YAML: {reason[0]}") from None
    if not isinstance(front, dict):
        raise NoteError("its front matter is no mapping")
    body = text[found.end() :]
    return Note(front, tuple(_observed(match) for match in _OBSERVATION.finditer(body)))


def _observed(match: re.Match[str]) -> Observation:
    text, context = match["text"], ""
    found = _CONTEXT.search(text)
    if found and _TAGS.search(text[: found.start()]):
        text, context = text[: found.start()], found["context"]
    tags = _TAGS.search(text)
    if tags:
        text = text[: tags.start()]
    plain = re.sub(r"\\([#\\])", r"\1", text)
    return Observation(match["category"], plain.strip(), tuple(tags[0].split() if tags else ()), context)


def _seen(memory: Memory) -> str:
    if not memory.session_count:
        return "said by hand"
    return f"seen in {memory.session_count} session{'s' if memory.session_count > 1 else ''}"


def _target(text: str) -> str:
    return " ".join(re.sub(r"[\[\]|]", " ", text).split())


def _day(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns / 1e9, UTC).strftime("%Y-%m-%d") if time_ns else ""
