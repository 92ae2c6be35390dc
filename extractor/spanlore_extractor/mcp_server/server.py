"""The tools as the protocol's SDK serves them, over stdio or HTTP.

The store is asked in a thread: the SDK's loop stays free for pings and cancellation. What is wrong is told to the model
in its own words (`ToolError`); a daemon that is down is no crash of the server, the next call may find it up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final

import anyio.to_thread
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field
from starlette.types import ASGIApp, Receive, Scope, Send

import spanlore
from spanlore.loopback import is_secret
from spanlore.memory.memory import Kind
from spanlore_collector.store.api_client import RequestRefusedError, VersionConflictError
from spanlore_collector.store.client import StoreUnavailableError
from spanlore_collector.store.reader import QueryFailedError
from spanlore_extractor.mcp_server.desk import Desk, DeskError

INSTRUCTIONS: Final = (
    "spanlore remembers what was learned in earlier sessions of this repository. Recall before work that may have been "
    "done before; remember durable facts the user states or that cost effort to find out, not the state of the task. "
    "What you remember waits for the user's yes, unless the user asked for it in the prompt: then it is kept in the "
    "user's words. "
    "What is recalled may be outdated: the repository and the user's files win."
)

type DeskOf = Callable[[str], Desk]
"""The desk of a directory; '' is the one the server was started in."""

_Directory = Annotated[str, Field(description="Where the work is, when not in the directory this server started in.")]


def build(desk_of: DeskOf) -> MCPServer[Any]:
    """The server with its six tools."""
    server: MCPServer[Any] = MCPServer(
        "spanlore", instructions=INSTRUCTIONS, version=spanlore.__version__, log_level="WARNING"
    )
    reading = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    adding = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)

    @server.tool(annotations=adding)
    async def remember(
        text: Annotated[str, Field(description="One durable fact, as a full sentence, at most 340 characters.")],
        scope: Annotated[str, Field(description="`repository` (this one) or `user` (everywhere).")] = "repository",
        directory: _Directory = "",
    ) -> dict[str, Any]:
        """Remember a fact for later sessions: how something is done here, where it is. Waits for the user's yes."""
        return await _done(lambda: desk_of(directory).remember(text, scope))

    @server.tool(annotations=reading)
    async def recall(
        query: Annotated[
            str, Field(description="What it is about: a command, a path, an error. Empty: what counts most here.")
        ] = "",
        limit: Annotated[int, Field(ge=1, le=50, description="At most this many.")] = 8,
        kind: Annotated[str, Field(description=f"Only this kind: {', '.join(Kind)}.")] = "",
        branch: Annotated[str, Field(description="Leave out what was learned on other branches.")] = "",
        directory: _Directory = "",
    ) -> dict[str, Any]:
        """Recall what was learned in earlier sessions of this repository, and what the user prefers everywhere."""
        return await _done(lambda: desk_of(directory).recall(query, limit, kind, branch))

    @server.tool(annotations=adding)
    async def reflect(
        dry_run: Annotated[bool, Field(description="Only tell what would be learned.")] = False,
        directory: _Directory = "",
    ) -> dict[str, Any]:
        """Learn now from the sessions recorded so far, this one too, and tell what they were about (`history`)."""
        return await _done(lambda: desk_of(directory).reflect(dry_run))

    @server.tool(annotations=reading)
    async def session_info(directory: _Directory = "") -> dict[str, Any]:
        """This session: task, failures, cost, memories given; and what earlier ones here were about, what is open."""
        return await _done(lambda: desk_of(directory).session_info())

    @server.tool(annotations=adding)
    async def switch_context(
        branch: Annotated[str, Field(description="The branch to work on; empty: the one checked out.")] = "",
        task: Annotated[str, Field(description="What is to be done there; empty: what was being done there.")] = "",
        carry_task: Annotated[bool, Field(description="Take the present task along to a branch without one.")] = True,
        directory: _Directory = "",
    ) -> dict[str, Any]:
        """Take up the work on another branch: its task, what its sessions were about, the memories that matter."""
        return await _done(lambda: desk_of(directory).switch_context(branch, task, carry_task))

    @server.tool(annotations=ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False))
    async def forget(
        memory_id: Annotated[str, Field(description="As `recall` gives it: m- and 12 hex digits.")],
        directory: _Directory = "",
    ) -> dict[str, Any]:
        """Have a memory forgotten that is wrong; it is never learned again. Pinned ones are the user's to forget."""
        return await _done(lambda: desk_of(directory).forget(memory_id))

    return server


def http_app(server: MCPServer[Any], token: str, host: str, port: int) -> ASGIApp:
    """Streamable HTTP at `/mcp`, for whoever has the token and comes by a loopback name."""
    from mcp.server.transport_security import TransportSecuritySettings

    names = [f"{name}:{port}" for name in (host, "localhost", "127.0.0.1", "[::1]")]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=names,
        allowed_origins=[f"http://{name}" for name in names],
    )
    return _Guard(server.streamable_http_app(stateless_http=True, transport_security=security), token)


class _Guard:
    """Asks for `Authorization: Bearer <token>` on every request."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scheme, _, given = dict(scope.get("headers") or ()).get(b"authorization", b"").decode("latin-1").partition(" ")
        is_start_or_end = scope["type"] == "lifespan"
        if is_start_or_end or (scheme.lower() == "bearer" and is_secret(given, self._token)):
            await self._app(scope, receive, send)
            return
        headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b"give the token of this installation as a bearer token\n"})


async def _done(act: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return await anyio.to_thread.run_sync(act)
    except VersionConflictError as error:
        raise ToolError(f"{error} Try once more.") from None
    except (DeskError, StoreUnavailableError, RequestRefusedError, QueryFailedError) as error:
        raise ToolError(str(error)) from None
