"""Templates, and how values are written in them. Everything is escaped; text of strangers can't turn the page around
(control and bidirectional characters are replaced), and Markdown of models makes no request and runs nothing."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Final
from urllib.parse import quote, urlencode

import orjson
from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from spanlore import figures
from spanlore.terminal import harmless

_TYPES: Final = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
    ".png": "image/png",
}
_TERMINAL: Final = re.compile("\x1b\\[[0-9:;?]*[ -/]*[@-~]|\r(?=\n)")
"""ECMA-48 control sequences, which carry no text of their own; and the CR of CR LF."""
MARKDOWN_CHARS: Final = 40_000
"""Longer texts are shown as they are."""


def environment(now_ns: Callable[[], int]) -> Environment:
    """Templates with the filters below. `now_ns` is the clock that ages are told by."""
    made = Environment(
        loader=PackageLoader("spanlore_dashboards.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    made.filters |= {
        "age": lambda time_ns: age(now_ns() - int(time_ns)),
        "bytes": figures.size,
        "clock": clock,
        "cost": figures.cost,
        "count": figures.count,
        "duration": figures.duration,
        "json": pretty_json,
        "markdown": markdown,
        "one_line": figures.one_line,
        "path": lambda value: quote(str(value), safe=""),
        "percent": percent,
        "query": lambda fields: f"?{urlencode(fields)}" if fields else "",
        "repository": figures.scope_name,
        "several": figures.several,
        "short": figures.short_count,
        "ticked": ticked,
        "when": when,
        "words": lambda value: str(value).replace("_", " "),
    }
    made.globals |= {"asset": asset, "icon": icon}
    return made


def _shown(value: Any) -> Any:
    if isinstance(value, str) and not isinstance(value, Markup):
        # Most are names and numbers; asking that first halves the time of a long page.
        return value if value.isascii() and value.isprintable() else plain(value)
    return value


def plain(text: str) -> str:
    """Text of strangers to be read: a terminal's colours and cursor moves are left out, Windows' line ends are line
    ends, and whatever else could act on its surroundings is replaced by a mark."""
    return harmless(_TERMINAL.sub("", text))


@cache
def static_files() -> Mapping[str, tuple[bytes, str]]:
    """Path below `static/` → content and type, of everything that is served."""
    found: dict[str, tuple[bytes, str]] = {}

    def walk(folder: Traversable, prefix: str) -> None:
        for item in folder.iterdir():
            if item.is_dir():
                walk(item, f"{prefix}{item.name}/")
            elif (kind := _TYPES.get(f".{item.name.rpartition('.')[2]}")) is not None:
                found[prefix + item.name] = (item.read_bytes(), kind)

    walk(files("spanlore_dashboards.web") / "static", "")
    return found


@cache
def asset(name: str) -> str:
    """The address of a static file; it changes with its content, so that it may be cached for ever."""
    digest = hashlib.blake2b(static_files()[name][0], digest_size=5).hexdigest()
    return f"/static/{name}?v={digest}"


@cache
def icon(name: str) -> Markup:
    """A symbol of `icons.svg`, drawn in the colour of the text around it."""
    return Markup('<svg class="icon" aria-hidden="true"><use href="{}#{}"/></svg>').format(asset("icons.svg"), name)


def age(nanoseconds: int) -> str:
    """`just now`, `5 min ago`, `3 h ago`, `4 d ago`."""
    seconds = max(0, nanoseconds) // 10**9
    if seconds < 45:
        return "just now"
    for limit, unit, name in ((5400, 60, "min"), (129_600, 3600, "h"), (60 * 86_400, 86_400, "d")):
        if seconds < limit:
            return f"{max(1, round(seconds / unit))} {name} ago"
    return f"{round(seconds / (30 * 86_400))} months ago"


def clock(time_ns: int | str) -> str:
    """`2026-11-30 14:05:09` on this machine's clock."""
    return f"{_local(time_ns):%Y-%m-%d %H:%M:%S}"


def when(time_ns: int | str) -> str:
    """`30 Nov 14:05` on this machine's clock."""
    return f"{_local(time_ns):%d %b %H:%M}"


def _local(time_ns: int | str) -> datetime:
    return datetime.fromtimestamp(int(time_ns) / 1e9, UTC).astimezone()


def percent(value: float | None) -> str:
    """Of a share from 0 to 1; never rounded up to 100 %."""
    if value is None:
        return figures.UNKNOWN
    shown = f"{100 * value:.1f}"
    return "99.9 %" if shown == "100.0" and value < 1 else f"{shown.removesuffix('.0')} %"


def pretty_json(text: str) -> str:
    """JSON indented; anything else as it is."""
    try:
        return orjson.dumps(orjson.loads(text), option=orjson.OPT_INDENT_2).decode()
    except (orjson.JSONDecodeError, UnicodeEncodeError):
        return text


@cache
def _parser() -> MarkdownIt:
    # No HTML of the text's own, and no pictures: they would be fetched from elsewhere.
    return MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table").disable("image")


def ticked(text: str) -> Markup:
    """Text in which `…` is code, as memories write commands."""
    pieces = plain(text).split("`")
    if len(pieces) % 2 == 0:
        return Markup.escape(plain(text))
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if n % 2 else Markup.escape(piece) for n, piece in enumerate(pieces)
    )


def markdown(text: str) -> Markup:
    """Markdown as HTML; links open elsewhere and tell nothing of where they were."""
    if len(text) > MARKDOWN_CHARS:
        return Markup("<pre>{}</pre>").format(plain(text))
    html: str = _parser().render(plain(text))
    # The renderer made this HTML itself: what stood in the text is escaped, and only http(s) and mailto are links.
    return Markup(html.replace("<a href=", '<a target="_blank" rel="noopener noreferrer" href='))  # noqa: S704 - as said
