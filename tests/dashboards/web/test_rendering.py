"""How values are written."""

import pytest

from spanlore import figures
from spanlore_dashboards.web import rendering
from spanlore_dashboards.web.rendering import (
    age,
    asset,
    environment,
    markdown,
    percent,
    plain,
    pretty_json,
    static_files,
    ticked,
)

SECOND_NS = 10**9


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, "just now"), (10, "just now"), (300, "5 min ago"), (7300, "2 h ago"), (9 * 86_400, "9 d ago")],
)
def test_ages(seconds: int, text: str) -> None:
    """In the unit that fits."""
    assert age(seconds * SECOND_NS) == text


def test_money_and_shares() -> None:
    """Not known is not 0, and not all is not 100 %."""
    shown = [figures.cost(value) for value in (None, 0, 0.00456, 1234.5)]
    assert shown == ["–", "$0.00", "$0.0046", "$1,234.50"]
    assert figures.cost(0.000001) == "<$0.0001"
    assert (percent(None), percent(0.5), percent(0.99999), percent(1)) == ("–", "50 %", "99.9 %", "100 %")


def test_repositories_in_a_narrow_place() -> None:
    """What tells them apart."""
    assert figures.scope_name("github.com/acme/widgets") == "acme/widgets"
    assert figures.scope_name("path:/home/me/work") == "work"
    assert (figures.scope_name("user"), figures.scope_name("")) == ("user", "")


def test_text_of_strangers_stays_text() -> None:
    """HTML is escaped, and what would turn the page's words around is replaced."""
    shown = environment(lambda: 0).from_string("{{ text }}").render(text="<b>\u202egnp.exe</b>\x1b]2J")

    assert shown == "&lt;b&gt;\ufffdgnp.exe&lt;/b&gt;\ufffd]2J"


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "[x](javascript:alert(1))",
        "<img src=x onerror=alert(1)>",
        "[x](data:text/html,<script>)",
    ],
)
def test_markdown_runs_and_loads_nothing(text: str) -> None:
    """What a model writes makes no element that acts or asks."""
    html = str(markdown(text))

    assert "<script" not in html
    assert "<img" not in html
    assert "href=" not in html


def test_pictures_are_not_fetched() -> None:
    """A picture in a model's text is a link: looking at a page tells nobody."""
    assert "<img" not in str(markdown("![x](https://example.org/spy.png)"))


def test_markdown_is_markdown() -> None:
    """Code, tables, and links that don't tell where they were."""
    html = str(markdown("`x`\n\n| a |\n|---|\n| 1 |\n\n[there](https://example.org)"))

    assert "<code>x</code>" in html
    assert "<table>" in html
    assert 'rel="noopener noreferrer" href="https://example.org"' in html
    assert str(markdown("<" * (rendering.MARKDOWN_CHARS + 1))).startswith("<pre>&lt;")


def test_code_in_memories() -> None:
    """Pairs of ticks make code; a lone one stays."""
    assert str(ticked("run `make <x>` now")) == "run <code>make &lt;x&gt;</code> now"
    assert str(ticked("a ` b")) == "a ` b"


def test_json_is_laid_out() -> None:
    """What is none stays."""
    assert pretty_json('{"a":1}') == '{\n  "a": 1\n}'
    assert pretty_json("{a") == "{a"


def test_static_files_ask_for_nothing_elsewhere() -> None:
    """No file of ours names an address; each is served under a name that changes with its content."""
    for name, (body, kind) in static_files().items():
        own = name.startswith("vendor/") or kind == "font/woff2"
        text = b"" if own else body.replace(b"http://www.w3.org/2000/svg", b"")

        assert b"http" not in text.replace(b"https://example", b""), name
        assert asset(name).startswith(f"/static/{name}?v=")


def test_templates_have_nothing_inline() -> None:
    """The content security policy would stop it: no style, no script, no handler in the HTML."""
    import re
    from importlib.resources import files

    for template in (files("spanlore_dashboards.web") / "templates").iterdir():
        html = template.read_text()

        assert not re.search(r"\sstyle=|\son\w+=|<style|<script(?![^>]* src=)", html), template.name


def test_output_of_a_terminal_is_read_without_its_codes() -> None:
    """Colours and cursor moves are left out, as are carriage returns at ends of lines; what carries text of its own,
    such as a window's title, stays to be seen, with a mark."""
    output = "\x1b[31;1mFAILED\x1b[0m a\r\n\x1b[2K\x1b[1A50 %\r100 %\x1b[38:5:1m\x1b]0;title\x07"

    assert plain(output) == "FAILED a\n50 %\ufffd100 %\ufffd]0;title\ufffd"
    assert str(ticked("`\x1b[1mmake\x1b[m`")) == "<code>make</code>"
    assert "<p>red</p>" in markdown("\x1b[31mred\x1b[0m")
    assert "<script>" not in f"{ticked('<scr\x1b[0mipt>')} {markdown('<scr\x1b[0mipt>')}"
