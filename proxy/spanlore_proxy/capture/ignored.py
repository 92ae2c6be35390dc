"""What is in files that a repository ignores is not kept: `.env.local`, `secrets/`, build output.

Where an agent's tool reads or writes such a file, the answer and the text that the call carries are replaced before
anything else is done with them; which file it was, and how the call ended, stays. The same text is then replaced
wherever it stands in what is recorded of this and later requests: an agent resends it, and the request log keeps
bodies. In the recorder's thread, never while a request waits.
"""

from __future__ import annotations

import glob
import json
from collections import OrderedDict
from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from spanlore.genai.inference import Inference
from spanlore.genai.messages import Message, ToolCall, ToolResult
from spanlore.harness.touched import Touched, searched_lines, touched_files, without_content
from spanlore.redaction.values import Redact
from spanlore.repository.ignored import IgnoredPaths
from spanlore.settings.paths import user_homes
from spanlore.settings.settings import CaptureSettings
from spanlore.signature.command import shell_text
from spanlore.spans.place import Observation, Outcome, ToolExecution

MARK: Final = "[redacted:ignored_file]"
MIN_CHARS: Final = 16
"""Shorter texts are replaced where they belong to the call, and not looked for elsewhere: they may be any word."""
MAX_TEXTS: Final = 256
MAX_TEXT_CHARS: Final = 4 * 1024**2
"""Of the texts that are remembered; the oldest go first."""
MAX_FILLED_IN: Final = 64
"""Files that one word with `*` may stand for."""


def ignored_files(capture: CaptureSettings) -> IgnoredFiles | None:
    """As the settings say; None where such files are kept like others."""
    return IgnoredFiles(IgnoredPaths(*user_homes())) if capture.ignored_files == "mask" else None


class IgnoredFiles:
    """One for all conversations; used by one thread."""

    def __init__(self, ignored: Container[object]) -> None:
        """`ignored` has the absolute paths that are not to be kept."""
        self._ignored = ignored
        self._texts: OrderedDict[str, str] = OrderedDict()
        """As it reads → as it stands in JSON."""
        self._chars = 0

    def masked(
        self, inference: Inference, observation: Observation, messages: Iterable[Any] = ()
    ) -> tuple[Inference, Observation]:
        """The two without what is in ignored files. `messages` are the request's own, in the provider's shape: what
        of an answer stands there in pieces is remembered by piece."""
        cwd = observation.workplace.cwd
        calls = {tool.call.id: tool.call for tool in observation.tools}
        for message in (*inference.new_messages, *inference.output):
            calls.update({part.id: part for part in message.parts if isinstance(part, ToolCall)})
        results = [part for message in inference.new_messages for part in message.parts if isinstance(part, ToolResult)]
        results += [tool.result for tool in observation.tools if tool.result is not None]
        clean: dict[int, ToolCall | ToolResult] = {}
        opened: dict[int, list[Touched]] = {}
        for call in {id(call): call for call in (*calls.values(), *(tool.call for tool in observation.tools))}.values():
            opened[id(call)] = [one for one in touched_files(call, cwd) if self._is_ignored(one.path)]
            clean[id(call)] = self._call(call, opened[id(call)])
        for result in {id(result): result for result in results}.values():
            asked = calls.get(result.id)
            clean[id(result)] = result if asked is None else self._result(result, asked, cwd, opened[id(asked)])
        hidden = [result.response for result in results if clean[id(result)] is not result]
        if hidden:
            self._remember_pieces(messages, hidden)
        if all(clean[id(one)] is one for one in (*calls.values(), *results)):
            return inference, observation
        return (
            replace(
                inference,
                new_messages=_with(inference.new_messages, clean),
                output=_with(inference.output, clean),
            ),
            replace(observation, tools=tuple(_execution(tool, clean) for tool in observation.tools)),
        )

    def redacting(self, redact: Redact) -> Redact:
        """The same redaction, which also replaces the texts that were found in ignored files."""

        def both(text: str) -> tuple[str, int]:
            count = 0
            if self._texts and len(text) >= MIN_CHARS:
                for plain, quoted in tuple(self._texts.items()):
                    for form in (plain, quoted):
                        if form in text:
                            text, count = text.replace(form, MARK), count + 1
            clean, found = redact(text)
            return clean, count + found

        return both

    def _call(self, call: ToolCall, opened: list[Touched]) -> ToolCall:
        """`opened`: the ignored files that it touches."""
        if not any(touched.is_in_call for touched in opened):
            return call
        arguments = without_content(call.arguments, MARK)
        if arguments == call.arguments:
            return call
        kept = set(_strings(arguments))
        self._remember(text for text in _strings(call.arguments) if text not in kept)
        return replace(call, arguments=arguments)

    def _result(self, result: ToolResult, call: ToolCall, cwd: str, opened: list[Touched]) -> ToolResult:
        if result.is_error and shell_text(call) is None:
            return result  # what went wrong, not the file; what it says of the call's own text is found by that
        if opened:
            self._remember((result.response,))
            return replace(result, response=MARK)
        lines = [
            (start + len(path), end)
            for start, end, path in searched_lines(call, result.response)
            if self._is_ignored(f"{cwd}/{path}" if not path.startswith("/") else path)
        ]
        if not lines:
            return result
        response = result.response
        self._remember(response[start:end] for start, end in lines)
        for start, end in reversed(lines):
            response = f"{response[:start]}: {MARK}{response[end:]}"
        return replace(result, response=response)

    def _is_ignored(self, path: str) -> bool:
        if any(letter in path for letter in "*?[") and any(one in self._ignored for one in _filled_in(path)):
            return True
        return path in self._ignored

    def _remember_pieces(self, messages: Iterable[Any], hidden: list[str]) -> None:
        pieces = (text for text in _strings(list(messages)) if any(text in whole for whole in hidden))
        self._remember(pieces, MIN_CHARS * 2)

    def _remember(self, texts: Iterable[str], min_chars: int = MIN_CHARS) -> None:
        for text in texts:
            if len(text) < min_chars:
                continue
            if text not in self._texts:
                self._texts[text] = json.dumps(text, ensure_ascii=False)[1:-1]
                self._chars += len(text)
            self._texts.move_to_end(text)
        while len(self._texts) > MAX_TEXTS or self._chars > MAX_TEXT_CHARS:
            self._chars -= len(self._texts.popitem(last=False)[0])


def _with(messages: tuple[Message, ...], clean: dict[int, ToolCall | ToolResult]) -> tuple[Message, ...]:
    return tuple(
        replace(message, parts=tuple(clean.get(id(part), part) for part in message.parts)) for message in messages
    )


def _execution(tool: ToolExecution, clean: dict[int, ToolCall | ToolResult]) -> ToolExecution:
    call, result = clean[id(tool.call)], clean.get(id(tool.result))
    assert isinstance(call, ToolCall)
    if isinstance(result, ToolResult) and result is not tool.result:
        tool = replace(tool, result=result, error_line=MARK if tool.outcome is Outcome.FAILURE else tool.error_line)
    if call is tool.call:
        return tool
    command = next((text for text in _strings(call.arguments) if MARK in text), MARK)
    return replace(tool, call=call, command=command if "\n" in tool.command or ">" in tool.command else tool.command)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _filled_in(path: str) -> list[str]:
    try:
        return list(islice(glob.iglob(path, include_hidden=True), MAX_FILLED_IN))  # noqa: PTH207 - absolute patterns
    except (OSError, ValueError):
        return []
