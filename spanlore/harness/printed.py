"""What agents print around a program's output: exit codes, headers, and how to get the output itself.

Formats as measured and as recorded sessions have them. Only the agent's own lines count: a
program may print `Exit Code: 1`, too, so each is looked for where the agent writes it, in the header or the very end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from spanlore.genai import jsontext
from spanlore.harness.stated import read_stated


@dataclass(frozen=True, slots=True)
class Printed:
    """A result's text, taken apart."""

    output: str
    """What the program itself printed."""
    exit_code: int | None = None
    running: str = ""
    """The id under which the agent will ask for the rest: the program has not ended yet."""
    has_failed: bool = False
    """The agent says that it failed, without an exit code."""
    is_mixed: bool = False
    """Several programs ran, and not all alike."""


_OUTPUT: Final = re.compile(r"(?:\A|\n)Output:[ ]?(?:\n|\Z)")
_CODEX_EXIT: Final = re.compile(r"(?:\A|\n)(?:Process exited with code|Exit code:) (-?\d{1,7})(?=\n|\Z)")
_CODEX_RUNNING: Final = re.compile(r"(?:\A|\n)Process running with session ID (\w+)")
_SCRIPT: Final = re.compile(r"\AScript (?:(completed|failed|terminated)|running with cell ID (\S+))(?=\n|\Z)")
_SCRIPT_EXIT: Final = re.compile(r'"exit_code": ?(-?\d{1,7})')
_CODEX_FAILED: Final = re.compile(
    r"\A(?:apply_patch verification failed|failed to parse function arguments|unsupported (?:custom tool )?call|"
    r"(?:exec_command|write_stdin|apply_patch) failed\b|execution error: |tool call error: )"
)
_MINI_TAGS: Final = re.compile(r"<returncode>(-?\d{1,7})</returncode>(?:\s*<output>\n?(.*?)(?:</output>|\Z))?", re.S)
_FOOTER: Final = re.compile(
    r"(?:\A|\n)Exit Code: (-?\d{1,7})(?=(?:\n(?:Signal|Background PIDs|Process Group PGID|PIDs?):[^\n]*)*\s*\Z)"
)
_LABELLED: Final = re.compile(r"(?:\A|\n)Output: (.*?)(?:\nError: (.*?))?\nExit Code: ", re.S)
_GEMINI_WRAPPING: Final = ("<untrusted_context>", "</untrusted_context>")
_GEMINI_FOOTER: Final = re.compile(r"(?:\n(?:Exit Code|Signal|Background PIDs|Process Group PGID): [^\n]*)+\Z")
_MAX_FOOTER_CHARS: Final = 1000
_PI_EXIT: Final = re.compile(r"\n*Command exited with code (-?\d{1,7})\s*\Z")
_OPENCLAW_EXIT: Final = re.compile(r"\n*\(Command exited with code (-?\d{1,7})\)\s*\Z")
_KIMI_HEAD: Final = re.compile(r"\A(?:Wall time: [\d.]+ seconds(?:\n|\Z))?(<system>ERROR: [^\n]*</system>(?:\n|\Z))?")
_KIMI_EXIT: Final = re.compile(r"\n*Command failed with exit code: (-?\d{1,7})\.\s*\Z")
_GROK_FAILED: Final = re.compile(r"\A(?:Command failed: )+[^\n]*\n?")
_MAX_SCRIPT_CODES: Final = 64


def read_printed(text: str, harness: str, *, is_shell: bool = True) -> Printed:
    """The text taken apart as that agent prints it; the text itself for an agent that prints nothing of its own.

    An agent that nobody has described is read by what such agents say in common, and that only of a shell command:
    what another tool gives back may be a file with just such a line.
    """
    reader = _READERS.get(harness)
    if reader is not None:
        return reader(text)
    return _other(text) if is_shell and harness not in _PRINTING_NOTHING else Printed(text)


def _codex(text: str) -> Printed:
    script = _SCRIPT.match(text)
    if script is not None:
        return _codex_script(text, script)
    if text.startswith("{") and (document := _object(text)) is not None:
        metadata = document.get("metadata")
        code = metadata.get("exit_code") if isinstance(metadata, dict) else document.get("exit_code")
        if isinstance(output := document.get("output"), str):
            return Printed(output, _code(code))
    if _CODEX_FAILED.match(text):
        return Printed(text, has_failed=True)
    begin = _OUTPUT.search(text)
    header = text[: begin.start()] if begin is not None else text[:2000]
    if "Wall time:" not in header and begin is None:
        return Printed(text)
    output = text[begin.end() :] if begin is not None else text
    # The command stands before these lines, and may be anything.
    codes, running = _CODEX_EXIT.findall(header), _CODEX_RUNNING.findall(header)
    return Printed(output, int(codes[-1]) if codes else None, "" if codes or not running else running[-1])


def _codex_script(text: str, script: re.Match[str]) -> Printed:
    """Code mode: JavaScript that calls tools, and prints what it likes of their results."""
    begin = _OUTPUT.search(text)
    output = text[begin.end() :] if begin is not None else ""
    if script[2]:
        return Printed(output, running=script[2])
    if script[1] != "completed":
        return Printed(output, has_failed=script[1] == "failed")
    codes = [int(code) for code in _SCRIPT_EXIT.findall(output)[:_MAX_SCRIPT_CODES]]
    if not codes:
        inner = _codex(output) if output.startswith(("Chunk ID: ", "Wall time: ")) else None
        return inner if inner is not None else Printed(output)
    if len(set(codes)) > 1:
        return Printed(output, is_mixed=True)
    document = _object(bare) if (bare := output.strip()).startswith("{") else None
    said = document.get("output") if document is not None else None
    return Printed(said if isinstance(said, str) else output, codes[0])


def _mini(text: str) -> Printed:
    if text.lstrip().startswith("{") and (document := _object(text)) is not None and "returncode" in document:
        output = document.get("output")
        return Printed(output if isinstance(output, str) else text, _code(document["returncode"]))
    found = _MINI_TAGS.search(text)
    if found is None:
        return Printed(text)
    return Printed(found[2] if found[2] is not None else text, int(found[1]))


def _labelled(text: str) -> Printed:
    """qwen-code and older Gemini CLI: `Command: … Output: … Error: … Exit Code: N Signal: …`."""
    codes = _FOOTER.findall(text)
    found = _LABELLED.search(text)
    said = [part for part in (found[1], found[2]) if part and part.strip() != "(none)"] if found is not None else []
    return Printed("\n".join(said) if found is not None else text, int(codes[-1]) if codes else None)


def unwrapped(text: str) -> str:
    """Without the tags that Gemini CLI puts around what it does not trust."""
    begin, end = _GEMINI_WRAPPING
    return text.removeprefix(begin).rstrip().removesuffix(end).strip("\n") if text.startswith(begin) else text


def _gemini(text: str) -> Printed:
    """Newer Gemini CLI: `Output: …`, then lines of its own, an exit code only where it is not 0; in tags or not."""
    inner = unwrapped(text)
    if not inner.startswith("Output: "):
        return _labelled(inner) if inner.startswith("Command: ") else Printed(inner)
    codes = _FOOTER.findall(inner)
    output = inner.removeprefix("Output: ").rstrip()
    footer = _GEMINI_FOOTER.search(output, max(0, len(output) - _MAX_FOOTER_CHARS))
    return Printed(output[: footer.start()] if footer is not None else output, int(codes[-1]) if codes else None)


def _pi(text: str) -> Printed:
    found = _PI_EXIT.search(text)
    return Printed(text[: found.start()], int(found[1])) if found is not None else Printed(text)


def _opencode(text: str) -> Printed:
    return Printed(text.partition("\n\n<bash_metadata>")[0].partition("\n\n<shell_metadata>")[0])


def _openclaw(text: str) -> Printed:
    """2026.9: a last line in brackets, only where the code is not 0."""
    found = _OPENCLAW_EXIT.search(text)
    return Printed(text if found is None else text[: found.start()], int(found[1]) if found is not None else None)


def _kimi(text: str) -> Printed:
    """Kimi Code 2.1: how long it took and whether it failed in front, the code behind, where it is not 0."""
    head, found = _KIMI_HEAD.match(text), _KIMI_EXIT.search(text)
    begin = head.end() if head is not None else 0
    output = text[begin : found.start() if found is not None else len(text)]
    has_failed = head is not None and head[1] is not None
    return Printed(output, int(found[1]) if found is not None else None, has_failed=has_failed and found is None)


def _grok(text: str) -> Printed:
    """grok-cli 0.0.34: Node's own words of a command that failed, without its code."""
    found = _GROK_FAILED.match(text)
    return Printed(text) if found is None else Printed(text[found.end() :], has_failed=True)


def _other(text: str) -> Printed:
    stated = read_stated(text)
    return Printed(stated.output, stated.exit_code, has_failed=stated.has_failed, is_mixed=stated.is_mixed)


_PRINTING_NOTHING: Final = frozenset({"claude-code"})
"""Its own words are the flag's (`outcome`)."""
_READERS: Final[Mapping[str, Callable[[str], Printed]]] = {
    "codex": _codex,
    "mini-swe-agent": _mini,
    "gemini-cli": _gemini,
    "qwen-code": _labelled,
    "pi": _pi,
    "opencode": _opencode,
    "openclaw": _openclaw,
    "kimi-code": _kimi,
    "grok-cli": _grok,
}


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = jsontext.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _code(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**7 else None
