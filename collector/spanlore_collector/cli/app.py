"""`spanlore sessions`, `session ID`, `search` and `watch`: what the store holds, for people and for scripts."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn
from urllib.parse import quote

import typer

from spanlore import completion
from spanlore.ending import NOT_RUNNING, USAGE, fail
from spanlore.terminal import harmless, show, tell
from spanlore_collector.bench import command as bench
from spanlore_collector.cli import store as store_commands
from spanlore_collector.cli.formats import Format

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanlore_collector.store.views import SessionSource


def commands(app: typer.Typer) -> None:
    """Adds the collector's commands to `app`."""
    app.command("sessions", help="The newest sessions: tools, failures, tokens, cost.")(sessions)
    app.command("session", help="One session as a tree: turns, model calls, tools, what was injected.")(session)
    app.command("search", help="Search everything that was said in sessions.")(search)
    app.command("watch", help="What agents do right now; Ctrl-C ends it.")(watch)
    bench.register(app)
    store_commands.register(app)


_Repository = Annotated[
    str,
    typer.Option(
        "--repo",
        "--repository",
        help="Only where the repository contains this; `.` is this one.",
        autocompletion=completion.repositories,
    ),
]
_Agent = Annotated[
    str,
    typer.Option("--agent", help="Only of this agent, such as claude-code or codex.", autocompletion=completion.agents),
]
_Since = Annotated[str, typer.Option("--since", help="Only from then on: 90m, 12h, 7d, 2w, or a date.")]


def sessions(
    limit: int = typer.Option(20, min=1, max=10_000, help="How many."),
    repository: _Repository = "",
    agent: _Agent = "",
    since: _Since = "",
    failed: bool = typer.Option(False, "--failed", help="Only those with a failed tool call."),
    as_json: bool = typer.Option(False, "--json", help="JSON, one array."),
) -> None:
    """The newest sessions, newest first."""
    import time

    from spanlore_collector.cli import rendering
    from spanlore_collector.store import summaries, views

    asked: dict[str, Any] = {
        "repository": _repository(repository),
        "agent": agent,
        "since_ns": _since(since),
        "only_failed": failed,
    }
    with _store() as store:
        rows = views.list_sessions(store, limit=limit, **asked)
        if len(rows) < limit and not asked.pop("only_failed"):
            # They are older than the others, as a rule: looked for only where there is room for them.
            rows += summaries.past_sessions(store, limit=limit - len(rows), **asked)
    if as_json:
        _print_json(rows)
    elif rows:
        show(rendering.session_table(rows, time.time_ns()))
    elif failed or any(asked.values()):
        tell("No sessions like that. `spanlore sessions` shows all.")
    else:
        tell("No sessions yet. Start one with: spanlore run -- claude")


def session(
    session_id: str = typer.Argument(
        ..., metavar="ID", help="The session's id, or how it begins.", autocompletion=completion.sessions
    ),
    failed: bool = typer.Option(False, "--failed", help="Only calls that failed, with what led to them."),
    tool: str = typer.Option("", "--tool", help="Only calls of this tool or program."),
    turn: int | None = typer.Option(None, "--turn", min=1, help="Only this turn, as it is numbered in the tree."),
    export: Format | None = typer.Option(None, "--export", help="md to read; json and otlp for programs."),
    output: Path | None = typer.Option(None, "--output", "-o", help="Write the export here instead of to stdout."),
    as_json: bool = typer.Option(False, "--json", help="JSON, one object."),
) -> None:
    """One session as a tree."""
    from spanlore_collector.cli import rendering
    from spanlore_collector.cli.filtering import Filter, filtered
    from spanlore_collector.store import session_tree, summaries, views

    with _store() as store:
        whole = views.one_session(store, session_id)
        if whole is None:
            found = [row["session_id"] for row in views.sessions_named(store, session_id)]
            kept = summaries.summaries_named(store, session_id)
            if not found and len(kept) == 1:
                _tell_what_is_left(kept[0], export, as_json=as_json)
                return
            found = sorted({*found, *(row["session_id"] for row in kept)})
            if len(found) != 1 or (whole := views.one_session(store, found[0])) is None:
                _refuse(session_id, found)
        one, spans = whole
        left = summaries.what_is_left(store, one["session_id"])
        if export in (Format.MD, Format.OTLP):
            _deliver(_exported(store, one, export), output)
            return
        tree = session_tree.build_tree(spans)
    tree = filtered(tree, Filter(failed, tool, None if turn is None else turn - 1))
    if as_json or export is Format.JSON:
        summary = rendering.summary_to_json(left) if left else None
        _deliver(_json({"session": one, "turns": session_tree.tree_to_json(tree), "summary": summary}), output)
    else:
        show(rendering.session_view(one, tree, _page(f"/sessions/{quote(one['session_id'], safe='')}")))
        if left:
            show(rendering.left_view(left, whole_session=False))
        if not tree:
            tell("Nothing like that happened in it.")


def _tell_what_is_left(kept: dict[str, Any], export: Format | None, *, as_json: bool) -> None:
    """Of a session whose rows are past their days."""
    from spanlore_collector.cli import rendering

    if export in (Format.MD, Format.OTLP):
        fail(f"session {kept['session_id']} is past its days; only its summary is left, without --export.")
    if as_json or export is Format.JSON:
        _print_json({"session": None, "turns": [], "summary": rendering.summary_to_json(kept)})
    else:
        show(rendering.left_view(kept, whole_session=True))


def search(
    query: list[str] = typer.Argument(..., metavar="QUERY", help='Words, all of them in one text; "two words" as one.'),
    repository: _Repository = "",
    agent: _Agent = "",
    since: _Since = "",
    speaker: str = typer.Option("", "--by", help="Only what the user, model, tool or system said; or summary."),
    limit: int = typer.Option(20, min=1, max=1000, help="How many."),
    as_json: bool = typer.Option(False, "--json", help="JSON, one array."),
) -> None:
    """Newest first, each text where it was said first."""
    import time

    from spanlore_collector.cli import rendering
    from spanlore_collector.store import transcripts

    if speaker not in transcripts.SPEAKERS:
        fail(f"--by is one of {', '.join(filter(None, transcripts.SPEAKERS))}, not {speaker!r}.", USAGE)
    # The shell took the quotes away; a word with a space in it was quoted.
    words = transcripts.words_of(query[0]) if len(query) == 1 else tuple(query)
    if not words:
        fail("say what to look for.", USAGE)
    wanted = transcripts.Wanted(words, speaker, _repository(repository), agent, _since(since), limit)
    with _store() as store:
        rows = transcripts.search(store, wanted)
    if as_json:
        _print_json(rows)
    elif rows:
        show(rendering.hits_view(rows, wanted.words, time.time_ns()))
    else:
        tell("Nothing like that was said.")


def watch(
    interval_s: float = typer.Option(2.0, "--interval", min=0.2, max=60, help="Seconds between two looks."),
    once: bool = typer.Option(False, "--once", help="One look, then the end."),
    as_json: bool = typer.Option(False, "--json", help="One JSON object a look, each on a line."),
) -> None:
    """Sessions of the last minutes, and what happened in them."""
    import time

    from rich.live import Live

    from spanlore.terminal import console, harmless_view
    from spanlore_collector.cli.watch import moment, view

    with _store() as store:
        if once and not as_json:
            show(view(moment(store, time.time_ns())))
            return
        try:
            if as_json:
                while True:
                    typer.echo(_compact(moment(store, time.time_ns()).to_json()))
                    if once:
                        return
                    time.sleep(interval_s)
            with Live(console=console(), auto_refresh=False, screen=sys.stdout.isatty()) as live:
                while True:
                    live.update(harmless_view(view(moment(store, time.time_ns()))), refresh=True)
                    time.sleep(interval_s)
        except KeyboardInterrupt:
            return


def _page(path: str) -> str:
    """The address of that path on the web page; '' where no page runs. The browser has to have logged in once."""
    import json

    from spanlore.settings import Paths

    try:
        port = int(json.loads(Paths.here().daemon_file.read_text())["web_port"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return f"http://127.0.0.1:{port}{path}" if port else ""


def _exported(store: SessionSource, row: dict[str, Any], export: Format) -> str:
    from spanlore_collector.cli import export as exporting
    from spanlore_collector.store import transcripts, views

    parts = transcripts.messages(store, row["session_id"], with_turns=export is Format.OTLP)
    if export is Format.OTLP:
        return _json(exporting.otlp(transcripts.spans(store, row["session_id"]), parts))
    calls = views.session_spans(store, row).tool_calls
    return exporting.markdown(row, parts, {call["span_id"]: call for call in calls})


def _deliver(text: str, output: Path | None) -> None:
    if output is None:
        # A terminal would act on what stands in a tool's output; a file or a program gets it as it was.
        sys.stdout.write((harmless(text) if sys.stdout.isatty() else text).rstrip("\n") + "\n")
        return
    from spanlore import private_file

    try:
        private_file.write(output, text.encode())
    except OSError as error:
        fail(f"{output} can't be written: {error.strerror}.")


def _repository(text: str) -> str:
    """`.` is the repository of the working directory."""
    if text != ".":
        return text
    from spanlore.repository import locate

    scope = locate(Path.cwd()).scope
    return scope or fail("this is not inside a git repository.", USAGE)


def _since(text: str) -> int:
    import time

    from spanlore.since import since_ns

    try:
        return since_ns(text, time.time_ns())
    except ValueError as error:
        fail(f"--since: {error}.", USAGE)


@contextmanager
def _store() -> Iterator[SessionSource]:
    """The reading side of the running daemon's store, or exit code 3 with what to do."""
    from spanlore.settings import Paths, child_environment, load_settings
    from spanlore_collector.store.api_client import connect
    from spanlore_collector.store.reader import QueryFailedError, StoreUnavailableError

    try:
        reader, client = connect(load_settings(), Paths.from_environ(child_environment({})))
        client.close()
        with reader:
            yield reader
    except StoreUnavailableError as error:
        fail(str(error), NOT_RUNNING)
    except QueryFailedError as error:
        if "AUTHENTICATION_FAILED" in str(error):
            fail("the daemon refuses the token of the state directory: it was made anew since. Restart it.")
        fail(str(error))


def _refuse(prefix: str, found: list[str]) -> NoReturn:
    if found:
        fail(f"several sessions begin with {prefix!r}: {', '.join(found)}")
    fail(f"no session begins with {prefix!r}; `spanlore sessions` lists them")


def _print_json(value: Any) -> None:
    typer.echo(_json(value))


def _json(value: Any) -> str:
    import orjson

    return orjson.dumps(value, default=str, option=orjson.OPT_INDENT_2).decode()


def _compact(value: Any) -> str:
    import orjson

    return orjson.dumps(value, default=str).decode()
