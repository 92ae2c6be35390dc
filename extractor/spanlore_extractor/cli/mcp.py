"""`spanlore mcp`: the MCP server, over stdio for an agent that starts it, or over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 7721


def register(app: typer.Typer) -> None:
    """Adds `mcp`."""

    @app.command("mcp", help="Serve memory as MCP tools: `claude mcp add spanlore -- spanlore mcp`.")
    def mcp(
        http: Annotated[bool, typer.Option("--http", help="Streamable HTTP instead of stdio.")] = False,
        port: Annotated[
            int, typer.Option(min=0, max=65535, help="Port for --http; 0 takes a free one.")
        ] = DEFAULT_PORT,
    ) -> None:
        """Tools: remember, recall, reflect, session_info, switch_context, forget."""
        import anyio

        if http:
            anyio.run(_serve_http, port)
        else:
            anyio.run(_server().run_stdio_async)


def _server() -> MCPServer[Any]:
    import time
    from pathlib import Path

    from spanlore.settings import Paths, child_environment, load_settings
    from spanlore_extractor.mcp_server.desk import Desk
    from spanlore_extractor.mcp_server.server import build
    from spanlore_extractor.mcp_server.workplace import workplace_of

    environ = child_environment({})
    paths = Paths.from_environ(environ)
    settings = load_settings(paths=paths)
    here = Path.cwd()

    def desk_of(directory: str) -> Desk:
        # Located at each call: the agent may have checked out another branch meanwhile.
        place = workplace_of(Path(directory).expanduser() if directory else here, environ)
        return Desk(settings, paths, place, time.time_ns)

    return build(desk_of)


async def _serve_http(port: int) -> None:
    import socket

    import uvicorn

    from spanlore.settings import Paths, child_environment
    from spanlore_extractor.mcp_server.server import http_app

    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError as error:
            typer.echo(
                f"spanlore: port {port}: {error.strerror}. Give --port another one; 0 takes a free one.", err=True
            )
            raise typer.Exit(1) from None
        bound = int(listener.getsockname()[1])
        token = Paths.from_environ(child_environment({})).token()
        # Before the address is told, so that who reads it can connect at once.
        listener.listen()
        app = http_app(_server(), token, HOST, bound)
        typer.echo(f"MCP at http://{HOST}:{bound}/mcp, with the token of `spanlore status`' state directory as bearer")
        config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="on")
        await uvicorn.Server(config).serve([listener])
