"""Exchange: one HTTP request with its response, as bytes and times, before anybody asks what it says.

Credentials never get this far: whoever makes an Exchange passes its headers through `strip_credentials` and its path
through `strip_query_credentials`. What stands in their place still tells *which kind* of credential was used, since
that decides how a request may be treated (DESIGN.md, Attested).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

type Headers = tuple[tuple[str, str], ...]

_CREDENTIAL_NAME: Final = re.compile(
    r"(?:^|[-_])(?:authorization|api[-_]?key|cookie2?|token|secret|password|credentials?|jwt|signature)$"
)
"""Header names that carry a credential: authorization, proxy-authorization, x-api-key, x-goog-api-key, api-key (Azure),
cookie, set-cookie, x-amz-security-token … Plural `-tokens` (rate limit counts) is none."""

_AUTHORIZATION_SCHEMES: Final = frozenset({"bearer", "basic", "digest", "negotiate", "aws4-hmac-sha256"})

_CREDENTIAL_QUERY: Final = re.compile(
    r"(?P<name>(?<=[?&])(?:key|api[-_]?key|access_token|token|sig|signature|x-amz-[a-z-]+|code|client_secret)=)[^&#]*",
    re.IGNORECASE,
)


class End(StrEnum):
    """How an exchange ended."""

    COMPLETE = "complete"
    CLIENT_GONE = "client_gone"
    UPSTREAM_CLOSED = "upstream_closed"
    """The upstream closed or reset the connection before the response was whole."""
    UPSTREAM_UNREACHABLE = "upstream_unreachable"
    ERROR = "error"
    """A protocol error on either side, or a fault of ours."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One HTTP request with its response. Names of headers are lower-case; times are ns since the epoch."""

    id: str
    """16 hex digits."""
    method: str
    scheme: str
    host: str
    """Lower-case; the API's real host, before any upstream override."""
    port: int
    path: str
    """With the query; credentials in it replaced."""
    request_headers: Headers
    """Credentials already replaced, see `strip_credentials`."""
    response_headers: Headers
    request_body: bytes
    """The client's body, content-decoded; before anything of ours was inserted."""
    response_body: bytes
    """Content-decoded, as far as it arrived."""
    status_code: int | None
    """None when no response head arrived."""
    start_time_ns: int
    first_chunk_time_ns: int | None
    """When the first byte of the response's body arrived; None when none did."""
    end_time_ns: int
    end: End

    def header(self, name: str) -> str | None:
        """First request header of that lower-case name."""
        return _first(self.request_headers, name)

    def response_header(self, name: str) -> str | None:
        """First response header of that lower-case name."""
        return _first(self.response_headers, name)

    @property
    def is_cut(self) -> bool:
        """The response may not be whole."""
        return self.end is not End.COMPLETE


def strip_credentials(headers: Iterable[tuple[str, str]]) -> Headers:
    """The headers with lower-case names, every credential replaced by `[credential:KIND]`.

    KIND is the scheme for `authorization` headers (`bearer`, `basic` …, else the header's name), and the header's name
    for all others. Applying it twice changes nothing.
    """
    return tuple((lower := name.lower(), _stripped(lower, value)) for name, value in headers)


def strip_query_credentials(path: str) -> str:
    """The path with the values of `key=`, `access_token=` and the like replaced by `[credential:query]`."""
    return _CREDENTIAL_QUERY.sub(r"\g<name>[credential:query]", path) if "?" in path else path


def _stripped(name: str, value: str) -> str:
    if not _is_credential(name) or value.startswith("[credential:"):
        return value
    if name.endswith("authorization"):
        scheme = value.split(None, 1)[0].lower() if value.strip() else ""
        if scheme in _AUTHORIZATION_SCHEMES:
            return f"[credential:{scheme}]"
    return f"[credential:{name}]"


@lru_cache(1024)
def _is_credential(name: str) -> bool:
    return _CREDENTIAL_NAME.search(name) is not None


def _first(headers: Headers, name: str) -> str | None:
    return next((value for known, value in headers if known == name), None)
