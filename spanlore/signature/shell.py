"""A tolerant reader of shell text: which simple commands does it hold, and what joins them?

Agents write one-liners with pipes, `&&` chains, here-documents and command substitutions. This is not a shell: it
finds the words and operators well enough to name the programs, never raises, and never runs anything. Substitutions
stay inside the word they stand in. Text beyond `MAX_SHELL_CHARS` is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

MAX_SHELL_CHARS: Final = 32_768
MAX_REMEMBERED: Final = 1024
"""Texts that are remembered with their commands: who judges a call, who names it and who looks for its files read the
same one."""
MAX_REMEMBERED_CHARS: Final = 2048
"""Longer ones are not."""

_OPERATOR = re.compile(r"\|\||&&|;;|\|&|[;|\n()]|&(?!>)")
_REDIRECT = re.compile(r"\d*(?:>>|>\||>&|<&|<>|&>>|&>|>|<(?![<(]))")
_HEREDOC = re.compile(r"<<-?[ \t]*(?:'([^'\n]+)'|\"([^\"\n]+)\"|\\?([\w.+-]+))")
_PLAIN = re.compile(r"[^\s'\"\\$`;|&<>()#]+")
_COMMENT = re.compile(r"#[^\n]*")
_NO_WORD_YET: Final = frozenset("<>|&;()\n0123456789")
"""With anything else a word begins: these may begin a here-document, a redirection or an operator."""
_KEYWORDS: Final = frozenset(
    {"if", "then", "else", "elif", "fi", "do", "done", "while", "until", "!", "{", "}", "esac"}
)
_LOOP_HEADS: Final = frozenset({"for", "case", "select", "function"})


@dataclass(frozen=True, slots=True)
class Simple:
    """One simple command: its words, unquoted, and the operator that follows it ('' at the end)."""

    words: tuple[str, ...]
    then: str
    """`|`, `&&`, `||`, `;`, `&` or ''."""


def simple_commands(text: str) -> tuple[Simple, ...]:
    """The simple commands of a shell text in the order they are written; keywords of compound commands left out."""
    return _remembered(text) if len(text) <= MAX_REMEMBERED_CHARS else _simple_commands(text)


@lru_cache(MAX_REMEMBERED)
def _remembered(text: str) -> tuple[Simple, ...]:
    return _simple_commands(text)


def _simple_commands(text: str) -> tuple[Simple, ...]:
    out: list[Simple] = []
    words: list[str] = []
    for kind, value in _tokens(text[:MAX_SHELL_CHARS]):
        if kind == "word":
            if words or value not in _KEYWORDS:
                words.append(value)
        elif words:
            out.append(Simple(_without_loop_head(words), _joint(value)))
            words = []
        elif out and value in ("&&", "||", "|", "|&"):  # `( a; b ) | c`: the joint belongs to the group before it
            out[-1] = Simple(out[-1].words, _joint(value))
    if words:
        out.append(Simple(_without_loop_head(words), ""))
    return tuple(simple for simple in out if simple.words)


def _joint(operator: str) -> str:
    return {"|&": "|", "\n": ";", ";;": ";", "(": ";", ")": ";"}.get(operator, operator)


def _without_loop_head(words: list[str]) -> tuple[str, ...]:
    return () if words[0] in _LOOP_HEADS else tuple(words)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """("word", unquoted text) and ("op", operator); redirections and here-documents are dropped."""
    i, size = 0, len(text)
    delimiters: list[str] = []
    while i < size:
        char = text[i]
        if char in " \t\r":
            i += 1
        elif text.startswith("\\\n", i):
            i += 2
        elif char == "#":
            found = _COMMENT.match(text, i)
            i = found.end() if found else i + 1
        elif char not in _NO_WORD_YET:
            word, i = _word(text, i)
            yield "word", word
        elif heredoc := _HEREDOC.match(text, i):
            delimiters.append(heredoc[1] or heredoc[2] or heredoc[3])
            i = heredoc.end()
        elif redirect := _redirect(text, i):
            i = _skip_target(text, redirect)
        elif operator := _OPERATOR.match(text, i):
            i = operator.end()
            if operator[0] == "\n" and delimiters:
                i = _skip_heredocs(text, i, delimiters)
                delimiters = []
            yield "op", operator[0]
        else:
            word, i = _word(text, i)
            yield "word", word


def _redirect(text: str, i: int) -> int:
    """Where a redirection's operator ends, or 0."""
    found = _REDIRECT.match(text, i)
    return found.end() if found else 0


def _skip_target(text: str, i: int) -> int:
    while i < len(text) and text[i] in " \t":
        i += 1
    return _word(text, i)[1] if i < len(text) and text[i] not in ";|&\n()" else i


def _skip_heredocs(text: str, i: int, delimiters: list[str]) -> int:
    for delimiter in delimiters:
        found = re.compile(rf"^[ \t]*{re.escape(delimiter)}[ \t]*$", re.M).search(text, i)
        i = found.end() if found else len(text)
    return i


def _word(text: str, i: int) -> tuple[str, int]:
    """One word with its quotes taken off, and where it ends. Always moves on by at least one character."""
    start, out, size = i, [], len(text)
    while i < size:
        if plain := _PLAIN.match(text, i):
            out.append(plain[0])
            i = plain.end()
            continue
        char = text[i]
        if char == "'":
            end = text.find("'", i + 1)
            end = size if end < 0 else end
            out.append(text[i + 1 : end])
            i = end + 1
        elif char == '"':
            piece, i = _double_quoted(text, i + 1)
            out.append(piece)
        elif char == "\\":
            if not text.startswith("\\\n", i):
                out.append(text[i + 1 : i + 2])
            i += 2
        elif text.startswith(("$(", "<(", ">("), i):
            end = _skip_substitution(text, i + 2)
            out.append(text[i:end])
            i = end
        elif char == "`":
            end = text.find("`", i + 1)
            end = len(text) if end < 0 else end + 1
            out.append(text[i:end])
            i = end
        elif char in " \t\r\n;|&()<>" and i > start:
            break
        else:
            out.append(char)
            i += 1
    return "".join(out), max(i, start + 1)


def _double_quoted(text: str, i: int) -> tuple[str, int]:
    out: list[str] = []
    while i < len(text):
        char = text[i]
        if char == '"':
            return "".join(out), i + 1
        if char == "\\":
            out.append(text[i + 1 : i + 2])
            i += 2
        elif text.startswith("$(", i):
            end = _skip_substitution(text, i + 2)
            out.append(text[i:end])
            i = end
        else:
            out.append(char)
            i += 1
    return "".join(out), i


def _skip_substitution(text: str, i: int) -> int:
    """End of a `$(…)` whose inside starts at i: quotes and here-documents in it may hold any parenthesis."""
    depth = 1
    while i < len(text):
        char = text[i]
        if char == "'":
            end = text.find("'", i + 1)
            i = len(text) if end < 0 else end + 1
        elif char == '"':
            i = _double_quoted(text, i + 1)[1]
        elif char == "\\":
            i += 2
        elif heredoc := _HEREDOC.match(text, i):
            line = text.find("\n", heredoc.end())
            delimiter = heredoc[1] or heredoc[2] or heredoc[3]
            i = len(text) if line < 0 else _skip_heredocs(text, line + 1, [delimiter])
        else:
            depth += (char == "(") - (char == ")")
            i += 1
            if depth == 0:
                return i
    return len(text)
