"""`spanlore recall QUERY`: what memory has to say, and with --explain why this and not that.

The daemon answers, which has the memories indexed; the command imports as little as it can.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from spanlore import completion
from spanlore.ending import NOT_RUNNING, USAGE, WRONG, fail
from spanlore.terminal import tell
from spanlore_extractor.cli.daemon import Json, here

TIMEOUT_S = 10.0


def register(app: typer.Typer) -> None:
    """Adds `recall`."""
    app.command("recall", help="What memory has to say about QUERY, without a model.")(recall)


def recall(
    query: Annotated[list[str], typer.Argument(metavar="QUERY", help="Words, a command, a path; quotes not needed.")],
    explain: Annotated[bool, typer.Option("--explain", help="All candidates, scores, what was cut and why.")] = False,
    scope: Annotated[
        str,
        typer.Option(
            help="Scope key, `user`, or `repo` for this repository.",
            autocompletion=completion.scopes,
        ),
    ] = "repo",
    agent: Annotated[
        str,
        typer.Option(
            help="Also what holds only for this agent, such as claude-code.", autocompletion=completion.agents
        ),
    ] = "",
    kind: Annotated[str, typer.Option(help="Only of this kind, such as usage, environment or correction.")] = "",
    path: Annotated[str, typer.Option(help="Only what names this file or directory, from the repository's root.")] = "",
    branch: Annotated[str, typer.Option(help="Leave out what was learned on other branches.")] = "",
    command: Annotated[
        str, typer.Option(metavar="COMMAND", help="What failed; QUERY is what it printed: what would stand beside it?")
    ] = "",
    exit_code: Annotated[int | None, typer.Option(help="How COMMAND ended.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="How many.")] = 8,
    backend: Annotated[str, typer.Option(help="keyword, hybrid or none, instead of recall.backend.")] = "",
    as_json: Json = False,
) -> None:
    """Ask memory as the proxy does for a prompt."""
    where, sub_path = _place() if scope == "repo" else (scope, "")
    asked = {"q": " ".join(query), "scope": where, "harness": agent, "sub_path": sub_path, "limit": str(limit)}
    asked |= {"kind": kind, "path": path, "branch": branch, "backend": backend, "command": command}
    if exit_code is not None:
        asked["exit_code"] = str(exit_code)
    document = ask({name: value for name, value in asked.items() if value})
    found = document["candidates"]
    shown = found if explain else [item for item in found if item["cut"] in ("", "unclear")][:limit]
    if as_json:
        import json

        typer.echo(json.dumps({**document, "query": asked["q"], "scope": where, "candidates": shown}))
        return
    if document["backend"] == "none":
        tell("recall.backend is none, so nothing is looked up. Ask with --backend keyword.")
    elif not shown:
        tell(f"Nothing is known about that in {where}.")
    else:
        _show(document, shown, explain=explain)


def _place() -> tuple[str, str]:
    """(scope, directory below the repository's root) of where the command is called."""
    place = here()
    if not place.scope:
        fail("this is not inside a git repository. Go to one, or say --scope SCOPE or --scope user.", USAGE)
    return place.scope, place.sub_path


def _show(document: dict[str, Any], shown: list[dict[str, Any]], *, explain: bool) -> None:
    from spanlore.terminal import write

    write("\n".join(lines(shown, explain=explain)))
    if explain:
        write(
            f"\n{document['memories']} memories looked through in {document['took_ms']:.1f} ms, {document['backend']}"
        )


CUT = {
    "unclear": "the query names too little of it to show it unasked",
    "same_slot": "a better one speaks of the same",
    "budget": "no room left",
    "limit": "enough others are better",
    "other_command": "it is about another command",
    "other_error": "it is about another error of that command",
    "other_path": "it is about another path",
    "outranked": "another one fits this failure better",
    "vague": "the same program, but its error says nothing",
}
"""Why a candidate would not be shown, in words."""


def lines(candidates: list[dict[str, Any]], *, explain: bool) -> list[str]:
    """The candidates for people: by day of their newest evidence, or with their scores in the order of rank."""
    import textwrap

    out: list[str] = []
    day = ""
    ordered = candidates if explain else sorted(candidates, key=lambda item: -item["updated_at_ns"])
    for item in ordered:
        if not explain and (on := _day(item["updated_at_ns"])) != day:
            day = on
            out.append(day)
        out += textwrap.wrap(
            f"{item['id']}  {item['text']}", 80, subsequent_indent="    ", break_long_words=True, break_on_hyphens=False
        )
        if explain:
            cut = item["cut"]
            out.append(f"    cut: {cut}, {CUT.get(cut, '')}".rstrip(", ") if cut else "    would be shown to an agent")
            if item["tier"]:
                out.append(f"    found by {item['tier'].replace('_', ' ')}, {item['tokens']} tokens")
                continue
            out.append(f"    score {item['score']:.2f}, {item['coverage']:.0%} of it named, {item['tokens']} tokens")
            ranks = [f"by words {item['keyword_rank'] or '–'}"]
            if item["meaning_rank"]:
                ranks.append(f"by meaning {item['meaning_rank']} ({item['similarity']:.2f})")
            out.append(f"    rank {', '.join(ranks)}")
            out += textwrap.wrap(
                f"matched {', '.join(item['matched']) or 'no word'} · {item['kind']}, {item['status']}, "
                f"{item['scope']}",
                80, initial_indent="    ", subsequent_indent="    ",
            )  # fmt: skip
    return out


def ask(asked: dict[str, str]) -> dict[str, Any]:
    """The daemon's answer, or an exit code with what to do."""
    import json
    from contextlib import closing
    from http.client import HTTPConnection, HTTPException
    from urllib.parse import urlencode

    from spanlore.settings import Paths, child_environment

    paths = Paths.from_environ(child_environment({}))
    try:
        port = int(json.loads(paths.daemon_file.read_text())["collector_port"])
        headers = {"Authorization": f"Bearer {paths.token()}", "Connection": "close"}
        with closing(HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)) as connection:
            connection.request("GET", f"/v1/recall?{urlencode(asked)}", headers=headers)
            with connection.getresponse() as answer:
                document: dict[str, Any] = json.loads(answer.read())
    except (OSError, ValueError, KeyError, TypeError, HTTPException):
        fail("the daemon is not running, or does not answer; `spanlore up --detach` starts it.", NOT_RUNNING)
    if answer.status != 200:
        fail(f"the daemon says {answer.status}: {document.get('message', '')}", WRONG)
    return document


def _day(time_ns: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(time_ns / 1e9, UTC).date().isoformat() if time_ns else "no date"
