"""What an agent that nobody has described prints about a shell command: its exit code, and the program's output.

Agents have few ways of saying it: a line of their own in front of the output or behind it ("Exit code: 3",
"[Command exited with code 3]", "Return code: 3"), or a JSON object or list with the code or a flag beside the output
(as measured with Cline 3.0, Continue CLI 1.5, gptme 0.35, Mistral Vibe 3.0 and Copilot CLI 1.0, and as other agents'
sources have it).
A program may print such a line in the middle of its output, which proves nothing; so only the first line and the last
three count, and only a line that says nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from spanlore.genai import jsontext


@dataclass(frozen=True, slots=True)
class Stated:
    """How the agent says that a command ended."""

    output: str
    """What the program printed, as far as that can be told from the agent's words."""
    exit_code: int | None = None
    has_failed: bool = False
    """The agent says so, without a code."""
    is_mixed: bool = False
    """Several commands, and not all ended alike."""


_LINE: Final = re.compile(
    r"[\[(<]?(?:the )?(?:(?:command|process|shell)(?:[ _-]?id)?(?:[ :#=]{1,2}\w{1,40})? )?"
    r"(?:(?:failed|exited|finished|completed|returned|ended|terminated)(?: with)?(?: an?)?(?: non-zero)? )?"
    r"(?:exit[ _-]?|return[ _-]?)?(?P<noun>code|status)\s*[:=]?\s*(?P<code>-?\d{1,7})[\])>.]?",
    re.I,
)
_TAG: Final = re.compile(r"<(exit_?code|return_?code|exit_?status)>\s*(-?\d{1,7})\s*</\1>", re.I)
_PREFIX: Final = re.compile(
    r"\A(?:Error executing tool \S{1,64}: )?(?:Error:? )?\((?:exit|return) code:? (-?\d{1,7})\):?\s*", re.I
)
"""Continue's: `Error executing tool Bash: Error (exit code 3): …`."""
_FENCE: Final = re.compile(r"^```(?:stdout|stderr|output|console|text)?\n(.*?)^```$", re.S | re.M)
_LABELS: Final = frozenset({"[stderr]", "[stdout]", "stdout:", "stderr:", "output:"})
_LAST_LINES: Final = 3
_CODES: Final = ("exit_code", "exitCode", "returncode", "return_code", "returnCode", "exit_status", "exitStatus")
_OUTPUTS: Final = ("output", "stdout", "stderr", "result", "content")
_MAX_JSON_CHARS: Final = 1 << 20


def read_stated(text: str) -> Stated:
    """How the command ended, and what it printed; the text itself where the agent says nothing. Never raises."""
    if text.lstrip()[:1] in ("{", "[") and len(text) <= _MAX_JSON_CHARS:
        found = _of_json(text)
        if found is not None:
            return found
    if (prefix := _PREFIX.match(text)) is not None:
        return Stated(text[prefix.end() :], int(prefix[1]))
    return _of_lines(text)


def _of_lines(text: str) -> Stated:
    lines = text.splitlines()
    told = [at for at, line in enumerate(lines) if line.strip()]
    # The last word counts: an agent that says it in front says it once.
    for at in [*reversed(told[-_LAST_LINES:]), *told[:1]]:
        code = _code_of(lines[at].strip())
        if code is not None:
            return Stated(_unfenced("\n".join(lines[:at] + lines[at + 1 :]).strip("\n")), code)
    return Stated(text)


def _code_of(line: str) -> int | None:
    if (tag := _TAG.fullmatch(line)) is not None:
        return int(tag[2])
    found = _LINE.fullmatch(line)
    # "status: 3" alone may be anybody's; a code needs a word that says whose it is.
    if found is None or not re.search(r"exit|return|failed|finished|completed|ended|terminated", line, re.I):
        return None
    return int(found["code"])


def _unfenced(text: str) -> str:
    """What stands in the agent's own fences, else the text, without the agent's names of the streams."""
    inside = [found.strip("\n") for found in _FENCE.findall(text)]
    text = "\n".join(part for part in inside if part) or text
    return "\n".join(line for line in text.splitlines() if line.strip().lower() not in _LABELS).strip("\n")


def _of_json(text: str) -> Stated | None:
    try:
        value = jsontext.loads(text)
    except ValueError:
        return None
    if isinstance(value, Mapping):
        return _of_object(value)
    if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        return _of_list([item for item in value if isinstance(item, Mapping)])
    return None


def _of_object(value: Mapping[str, Any]) -> Stated | None:
    output = _output_of(value)
    code = next((value[name] for name in _CODES if _is_code(value.get(name))), None)
    if output is None or code is None:
        return None  # JSON that a program printed
    return Stated(output, code)


def _of_list(items: Sequence[Mapping[str, Any]]) -> Stated | None:
    """One object for each command: Cline's `[{"query", "result", "success"}]`."""
    flags = [item.get("success") for item in items]
    outputs = [_output_of(item) for item in items]
    if not all(isinstance(flag, bool) for flag in flags) or None in outputs:
        return None
    read = [_of_lines(output or "") for output in outputs]
    output = "\n".join(one.output for one in read if one.output)
    if len(set(flags)) > 1:
        return Stated(output, is_mixed=True)
    if flags[0]:
        return Stated(output, 0)
    codes = {one.exit_code for one in read}
    code = codes.pop() if len(codes) == 1 else None
    return Stated(output, code, has_failed=code is None)


def _output_of(value: Mapping[str, Any]) -> str | None:
    """The texts under the keys that hold output; None when there is no such key."""
    texts = [value[name] for name in _OUTPUTS if isinstance(value.get(name), str)]
    return "\n".join(text.strip("\n") for text in texts if text.strip()) if texts else None


def _is_code(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**7
