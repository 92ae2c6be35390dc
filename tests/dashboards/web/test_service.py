"""The page as a whole: its process, its files, and what it does without a daemon."""

from pathlib import Path

from spanlore.settings import Paths
from spanlore_dashboards.web.guard import Keys
from support.web_process import WebProcess


def test_without_a_daemon(tmp_path: Path) -> None:
    """It starts all the same, says what to do, and ends in order; the API says 503."""
    with WebProcess(Paths(tmp_path / "config", tmp_path / "state")) as site:
        page = site.send("GET", "/sessions", site.cookie)
        answer = site.api("/sessions")
        health = site.send("GET", "/health", site.cookie)

        assert (page.status, page.headers["Refresh"]) == (503, "3")
        assert "<code>spanlore up --detach</code>" in page.body.decode()
        assert (answer.status, "spanlore up" in answer.json()["message"]) == (503, True)
        assert (health.status, health.headers["Refresh"]) == (200, "3")
        assert "<code>spanlore up --detach</code>" in health.body.decode().split("<dl")[0]
        assert site.send("GET", "/healthz").json() == {"status": "ok"}
        assert site.stop() == 0


def test_words_are_not_lost_without_a_daemon(tmp_path: Path) -> None:
    """What was typed into a form is shown beside the fault, and the page does not go on to another by itself."""
    with WebProcess(Paths(tmp_path / "config", tmp_path / "state")) as site:
        form = Keys(site.paths.token(), site.paths.web_login()).form
        reply = site.post_form("/memories/m-000000000001", csrf=form, action="edit", text="Long <b> words", version="1")
        page = reply.body.decode()

        assert (reply.status, "Refresh" in reply.headers) == (503, False)
        assert "Long &lt;b&gt; words</textarea>" in page
        assert 'href="/memories/m-000000000001"' in page


def test_static_files(site: WebProcess) -> None:
    """Without a login, for ever, with their type; nothing else of the disk."""
    style = site.send("GET", "/static/app.css")

    assert (style.status, style.headers["Content-Type"]) == (200, "text/css; charset=utf-8")
    assert "immutable" in style.headers["Cache-Control"]
    assert site.send("GET", "/static/vendor/inter.woff2").headers["Content-Type"] == "font/woff2"
    for path in ("/static/../service.py", "/static/%2e%2e/service.py", "/static/none"):
        assert site.send("GET", path).status == 404


def test_the_root_leads_to_sessions(site: WebProcess) -> None:
    """And what is nowhere is 404."""
    assert site.send("GET", "/", site.cookie).headers["Location"] == "/sessions"
    assert site.send("GET", "/nowhere", site.cookie).status == 404


def test_a_body_that_is_too_large(site: WebProcess) -> None:
    """Nobody fills the memory with a form."""
    headers = {**site.cookie, "Content-Type": "application/x-www-form-urlencoded"}

    assert site.send("POST", "/memories/m-000000000001", headers, b"x" * 100_000).status == 413
