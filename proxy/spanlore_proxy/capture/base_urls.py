"""Requests that are addressed to this proxy itself: base-URL mode (`launch.base_urls`), for agents that trust no CA.

They come on the proxy's own port, as `POST /r/RUN:TOKEN/NAME/v1/messages`. The prefix says whose request it is and
which API is meant; it goes no further, and the request is then the same as one that came through a tunnel. Without the
credentials of a run nothing is forwarded, so a program or a page that finds the port cannot use it; nor is a Host
header believed that is no loopback name, which is how a page would come here by DNS rebinding.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import orjson
from mitmproxy import http

from spanlore.settings import SettingsError
from spanlore.spans.place import Workplace
from spanlore_proxy.capture import counters
from spanlore_proxy.capture.counters import Counters
from spanlore_proxy.capture.interception import ORIGIN_FORM
from spanlore_proxy.capture.runs import Credentials, RunRegistry
from spanlore_proxy.capture.upstreams import Upstream, parse_upstreams
from spanlore_proxy.launch.base_urls import PREFIX, PROVIDERS

ADDRESS: Final = "spanlore.address"
"""Key in a flow's metadata: the `Address` of a request that came by a base URL."""
LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1", "[::1]"})

_PATH: Final = re.compile(
    rf"{PREFIX}(?P<user>[^/:?%]+)(?::|%3[Aa])(?P<token>[^/?]+)/(?P<name>[^/?]+)(?P<rest>(?:[/?].*)?)", re.DOTALL
)
_HOST: Final = re.compile(r"host(?:=|%3[Dd])(?P<host>[A-Za-z0-9.-]+(?::\d+)?)")
_UNVERSIONED: Final = re.compile(r"/(?:messages|models|chat/completions|completions|responses|embeddings)(?:[/?]|\Z)")
"""Paths that these APIs have below /v1 only. Agents disagree on whether a base URL holds it."""
_VERSIONED: Final = frozenset({"anthropic", "openai"})


class RefusedError(ValueError):
    """The request is not forwarded. The message says what to do, and never repeats credentials."""

    def __init__(self, status_code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.reason = reason
        """For the counter."""


@dataclass(frozen=True, slots=True)
class Address:
    """What a base URL's path says."""

    upstream: Upstream
    """The API."""
    path: str
    """Of the request there, without the upstream's own prefix."""
    workplace: Workplace | None
    """None for a base URL that belongs to a shell: any directory may be the agent's."""
    credentials: Credentials | None = None
    """The run's."""


class BaseUrls:
    """Leads on what is addressed to this proxy itself."""

    def __init__(self, runs: RunRegistry, counts: Counters) -> None:
        self._runs = runs
        self._counts = counts
        self.own_addresses: frozenset[tuple[str, int]] = frozenset()
        """Where this proxy listens. A client that has an HTTP_PROXY names it in full, as any other server."""

    def take(self, flow: http.HTTPFlow) -> None:
        """A request of ours becomes one to the API, with its `Address` in the flow's metadata; one that leads nowhere
        gets its answer. Any other is left as it is."""
        data = flow.request.data
        if not (flow.metadata.get(ORIGIN_FORM) or (data.host.lower(), data.port) in self.own_addresses):
            return
        try:
            address = read_address(data.host, flow.request.path, self._runs)
        except RefusedError as error:
            if flow.request.path != "/":  # a look whether anybody is here, as the supervisor's
                self._counts.add(counters.REFUSED, error.reason)
            flow.response = refusal(error)
            return
        lead_on(flow.request, address)
        flow.metadata[ADDRESS] = address


def read_address(host: str, path: str, runs: RunRegistry) -> Address:
    """Where a request to this proxy leads; `host` is the name in its Host header.

    Raises:
        RefusedError: nowhere.
    """
    if host.lower() not in LOOPBACK:
        raise RefusedError(403, "host", "spanlore answers on loopback names only (127.0.0.1, localhost).")
    found = _PATH.fullmatch(path)
    if found is None:
        raise RefusedError(
            404,
            "no_run",
            "this is spanlore's proxy. Start the agent with `spanlore run -- AGENT`, or, if it cannot trust a CA, with "
            "`spanlore run --via base-url -- AGENT`; `spanlore env --via base-url` prints the base URLs for a shell.",
        )
    credentials = Credentials(found["user"], found["token"])
    run = runs.known(credentials)
    if run is None:
        raise RefusedError(
            403, "credentials", "no run of spanlore has this base URL. `spanlore env --via base-url` prints one anew."
        )
    name, rest = found["name"], found["rest"]
    upstream = _upstream(name, run)
    if name in _VERSIONED and name not in _own(run):
        rest = _with_version(rest)
    return Address(upstream, rest if rest.startswith("/") else f"/{rest}", runs.workplace(credentials), credentials)


def lead_on(request: http.Request, address: Address) -> None:
    """Makes the request what it would be had the agent sent it to the API itself."""
    # The properties `host` and `port` would rewrite the Host header as well, and spell it their own way.
    request.data.host, request.data.port = address.upstream.host.lower(), address.upstream.port
    request.scheme = address.upstream.scheme
    request.path = address.upstream.prefix + address.path
    name = address.upstream.authority.encode()
    request.headers.fields = tuple(
        (key, name if key.lower() == b"host" else value) for key, value in request.headers.fields
    )


def refusal(error: RefusedError) -> http.Response:
    """The answer, in the shape in which the SDKs of the big APIs find a message."""
    body = {"type": "error", "error": {"type": "spanlore_refused", "message": f"spanlore: {error}"}}
    return http.Response.make(error.status_code, orjson.dumps(body), {"content-type": "application/json"})


def _own(run: dict[str, Any]) -> dict[str, Any]:
    own = run.get("upstreams")
    return own if isinstance(own, dict) else {}


def _upstream(name: str, run: dict[str, Any]) -> Upstream:
    by_host = _HOST.fullmatch(name)
    url = _own(run).get(name) or PROVIDERS.get(name) or (f"https://{by_host['host']}" if by_host else "")
    if not url:
        known = ", ".join(PROVIDERS)
        raise RefusedError(404, "name", f"there is no API of this name. Known: {known}; any other as host=NAME.")
    try:
        return parse_upstreams({name: str(url)})[name.lower()]
    except SettingsError as error:
        raise RefusedError(404, "name", str(error)) from None


def _with_version(rest: str) -> str:
    if rest.startswith("/v1/v1/"):
        return rest.removeprefix("/v1")
    return f"/v1{rest}" if _UNVERSIONED.match(rest) else rest
