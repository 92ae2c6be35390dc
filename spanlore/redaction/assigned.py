"""Secrets that tell nothing about themselves: the value that a name such as DB_PASSWORD is given.

`.env` files, shell, YAML, JSON (also inside JSON strings), code and command-line options. A value that is a variable,
a path, a call, a placeholder or plain words is not a secret: "token" and "secret" are everyday words in source code,
and a memory full of holes is useless. Commit hashes, UUIDs and lock-file digests do not stand at such names.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import Final

HIGH_ENTROPY: Final = "high_entropy"
"""Label of a value that only its randomness gives away."""

KEYWORDS: Final[dict[bytes, str]] = {
    b"passw": "password",
    b"passphrase": "password",
    b"_pass": "password",
    b"pwd": "password",
    b"secret": "secret",
    b"token": "token",
    b"credential": "secret",
    b"api_key": "api_key",
    b"api-key": "api_key",
    b"apikey": "api_key",
    b"access_key": "secret",
    b"access-key": "secret",
    b"accesskey": "secret",
    b"auth_key": "secret",
    b"authkey": "secret",
    b"account_key": "secret",
    b"private_key": "secret",
    b"private-key": "secret",
    b"privatekey": "secret",
    b"signing_key": "secret",
    b"encryption_key": "secret",
    b"_auth": "secret",
    b"key": HIGH_ENTROPY,
}
"""Part of a name, lower case → label. A name with nothing but `key` counts only with a value of high entropy."""

_ASSIGNMENT: Final = re.compile(
    rb"""
    (?P<rest>(?:ord|d|phrase|[_-]?(?:key|base|value|string|hash|prod|production|staging|dev|test|live|id_rsa))*+\d*)
    (?P<close>\\?["'`])? \]?                                    # a quoted name, or environ["NAME"]
    (?:
        [ \t]{0,8} : [ \t]? [A-Za-z_][\w.\[\]|, ]{0,40}? [ \t]? = [ \t]? (?!=)   # NAME: str = VALUE
      | [ \t]{0,8} (?P<sign> => | := | [=!]= | [:=] ) [ \t]{0,8}
      | (?P<prose> [ \t]{1,2} is [ \t]{1,2} )                    # the name is VALUE
      | (?P<space> [ \t]{1,2} )                                 # --name VALUE
      | (?P<pair> (?:\s|\\[nrt]|,){1,60}? (?:\\?["'])? value (?:\\?["'])? \s? : \s? )   # name: NAME, value: VALUE
    )
    (?P<open>\\?["'`])?
    (?P<value> (?(open) [^\s"'`\\]{4,400} | [^\s"'`,;(){}\[\]<>|&\\]{4,400} ) )
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Matched from the end of the keyword on."""

_NO_SECRET: Final = re.compile(
    rb"""
    \$ | \{ | < | % | \* | \# | \[redacted | / | \./ | ~ | [a-z]+://
    | \+[a-z_]\w*\) | [a-z0-9_-]{0,20} (?: \.{3} | x{4} )
    | your | my[-_] | example | change[-_]?me | placeholder | redacted | dummy
    | (?: none | null | nil | undefined | true | false | str | string | bytes | optional | required ) $
    | process\.env | os\. | env\. | getenv | secrets?\. | config\. | settings\. | self\. | this\. | arn: | op: | vault:
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ATTRIBUTE: Final = re.compile(rb"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_CONSTANT: Final = re.compile(rb"[A-Z][A-Z_]*")
_ENVIRONMENT_NAME: Final = re.compile(rb"[A-Z][A-Z0-9_]*")
_ENTROPIC: Final = re.compile(rb"(?=[^A-Z]*[A-Z])(?=[^a-z]*[a-z])(?=[^0-9]*[0-9])[A-Za-z0-9+/=_-]{24,}")
_NAME_BYTES: Final = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_MAX_NAME_BYTES: Final = 60


@dataclass(frozen=True, slots=True)
class Assigned:
    """Where a secret value stands, in bytes."""

    start: int
    end: int
    label: str


def find_assigned(data: bytes, keyword: bytes, position: int) -> Assigned | None:
    """The secret that is given to the name in which the keyword stands at the position; None when there is none."""
    match = _ASSIGNMENT.match(data, position + len(keyword))
    if match is None:
        return None
    if match["space"] and b"--" not in data[max(position - _MAX_NAME_BYTES, 0) : match.end("rest")]:
        return None  # prose, mostly, and told sooner than where its name begins
    name_start = _name_start(data, position)
    name = data[name_start : match.end("rest")]
    if match["space"] and not name.startswith(b"--"):
        return None
    if not match["open"] and data[match.end() : match.end() + 1] in (b"(", b"[", b"{", b"<"):
        return None  # a call or a subscript
    label = KEYWORDS[keyword]
    if not _is_secret(match, name, label):
        return None
    return Assigned(match.start("value"), match.end("value"), label)


def _name_start(data: bytes, position: int) -> int:
    start = position
    limit = max(position - _MAX_NAME_BYTES, 0)
    while start > limit and data[start - 1] in _NAME_BYTES:
        start -= 1
    return start


def _is_secret(match: re.Match[bytes], name: bytes, label: str) -> bool:
    value = match["value"]
    if _NO_SECRET.match(value):
        return False
    if label == HIGH_ENTROPY:
        return b"public" not in name.lower() and bool(_ENTROPIC.fullmatch(value)) and entropy_bits(value) >= 4.0
    if match["prose"] and not any(48 <= byte <= 57 for byte in value):
        return False  # "the password is wrong!"
    if (match["sign"] == b"=" or match["pair"]) and _ENVIRONMENT_NAME.fullmatch(name):
        return not _CONSTANT.fullmatch(value) and not _ATTRIBUTE.fullmatch(value)
    return _looks_secret(value, label, is_quoted=bool(match["open"]))


def _looks_secret(value: bytes, label: str, *, is_quoted: bool) -> bool:
    if not is_quoted and _ATTRIBUTE.fullmatch(value):
        return False
    digits = sum(48 <= byte <= 57 for byte in value)
    symbols = sum(byte in b"!@#$%^&*+/=~" for byte in value)
    if label == "password":
        return len(value) >= 6 and (digits > 0 or symbols > 0)
    if digits == len(value):
        return False  # a count or a number
    if digits:
        return len(value) >= (8 if is_quoted else 12)
    return len(value) >= 16 and symbols > 0 and value.lower() != value


def entropy_bits(value: bytes) -> float:
    """Shannon entropy, bits a byte."""
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values())
