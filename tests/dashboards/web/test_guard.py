"""Who may see the page."""

import pytest

from spanlore_dashboards.web.guard import Keys
from support.web_process import WebProcess


def test_what_a_browser_holds_is_not_the_token() -> None:
    """The cookie, the form's value and the login are three things, and none of them is the token."""
    keys = Keys("token", "login")

    assert len({keys.cookie, keys.form, keys.token, keys.login}) == 4
    assert keys.opens("login")
    assert keys.opens("token")
    assert not keys.opens(keys.cookie)
    assert not keys.opens("")


def test_nothing_without_a_login(site: WebProcess) -> None:
    """A page leads to the login and comes back; the API and forms refuse."""
    page = site.send("GET", "/memories?view=all")

    assert (page.status, page.headers["Location"]) == (303, "/login?next=/memories%3Fview%3Dall")
    assert site.send("GET", "/api/v1/sessions").status == 401
    assert site.send("GET", "/api/v1/sessions", {"Authorization": "Bearer wrong"}).status == 401
    assert site.send("POST", "/memories/m-000000000001", body=b"action=forget").status == 401


def test_foreign_hosts_are_refused(site: WebProcess) -> None:
    """DNS rebinding: the cookie does not help under a foreign name."""
    assert site.send("GET", "/sessions", {**site.cookie, "Host": "example.org"}).status == 403


def test_login(site: WebProcess) -> None:
    """The printed URL sets a cookie that scripts can't read, and leads nowhere but to pages of ours."""
    reply = site.send("GET", f"/login?token={site.paths.web_login()}&next=/cost")
    elsewhere = site.send("GET", f"/login?token={site.paths.web_login()}&next=//example.org/")
    wrong = site.send("GET", "/login?token=wrong")

    assert (reply.status, reply.headers["Location"]) == (303, "/cost")
    assert "HttpOnly" in reply.headers["Set-Cookie"]
    assert "SameSite=Lax" in reply.headers["Set-Cookie"]
    assert site.paths.token() not in reply.headers["Set-Cookie"]
    assert elsewhere.headers["Location"] == "/sessions"
    assert (wrong.status, "Set-Cookie" in wrong.headers) == (403, False)


def test_a_typed_token_leads_where_one_wanted_to_go(site: WebProcess) -> None:
    """The login's form keeps the page that was asked for, also after a token that was wrong."""
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    wrong = site.send("POST", "/login?next=/cost%3Fdays%3D7", headers, b"token=wrong")
    right = site.send("POST", "/login?next=/cost%3Fdays%3D7", headers, f"token={site.paths.web_login()}".encode())

    assert (wrong.status, 'action="/login?next=%2Fcost%3Fdays%3D7"' in wrong.body.decode()) == (403, True)
    assert right.headers["Location"] == "/cost?days=7"


def test_words_of_a_form_are_not_lost_with_the_login(site: WebProcess) -> None:
    """Who sends one after the login has ended is told so on a page, with what was typed; nothing of it is done."""
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "text/html,*/*"}
    reply = site.send("POST", "/memories/m-000000000002", headers, b"action=edit&text=Long+%3Cb%3E+words")
    page = reply.body.decode()

    assert (reply.status, reply.headers["Content-Type"]) == (401, "text/html; charset=utf-8")
    assert "frame-ancestors 'none'" in reply.headers["Content-Security-Policy"]
    assert "nothing was changed" in page
    assert "Long &lt;b&gt; words</textarea>" in page
    assert 'action="/login?next=%2Fmemories%2Fm-000000000002"' in page
    assert "Long" not in site.get("/memories/m-000000000002")


@pytest.mark.parametrize(
    "target", ["%2F%09%2Fexample.org", "%2F%0A%2Fexample.org", "%2F%5Cexample.org", "https:x", "%2F%00"]
)
def test_a_login_leads_nowhere_else(site: WebProcess, target: str) -> None:
    """Browsers leave tabs and line ends out of an address: `/<tab>/example.org` would be another site."""
    reply = site.send("GET", f"/login?token={site.paths.web_login()}&next={target}")

    assert (reply.status, reply.headers["Location"]) == (303, "/sessions")


@pytest.mark.parametrize(
    ("path", "name", "status"), [("/sessions", "Cookie", 303), ("/api/v1/memories", "Authorization", 401)]
)
def test_bytes_that_are_no_text_are_no_key(site: WebProcess, path: str, name: str, status: int) -> None:
    """Refused as any wrong one is, not as a fault of ours."""
    value = {"Cookie": "spanlore=\xff\xfe", "Authorization": "Bearer \xff\xfe"}[name]

    assert site.send("GET", path, {name: value}).status == status


def test_the_cookie_only_reads_the_api(site: WebProcess) -> None:
    """A foreign page can make a browser send it; what changes something needs the header."""
    path = "/api/v1/memories/m-000000000001/actions"
    body = b'{"action": "forget"}'

    assert site.send("GET", "/api/v1/memories", site.cookie).status == 200
    assert site.send("POST", path, {**site.cookie, "Content-Type": "application/json"}, body).status == 401


@pytest.mark.parametrize("headers", [{"Origin": "http://example.org"}, {"Sec-Fetch-Site": "cross-site"}, {}])
def test_forms_from_elsewhere_do_nothing(site: WebProcess, headers: dict[str, str]) -> None:
    """Another origin is refused even with the right value, and the own origin without it."""
    from urllib.parse import urlencode

    value = Keys(site.paths.token(), site.paths.web_login()).form if headers else "guessed"
    fields = {"csrf": value, "version": "1", "action": "forget"}
    sent = {**site.cookie, "Content-Type": "application/x-www-form-urlencoded", **headers}
    reply = site.send("POST", "/memories/m-000000000002", sent, urlencode(fields).encode())

    assert reply.status == 403
    assert site.api("/memories/m-000000000002").json()["memory"]["status"] == "active"


def test_headers_of_every_answer(site: WebProcess) -> None:
    """Nothing inline, nothing from elsewhere, no frame around it, nothing kept by caches; faults too."""
    for path in ("/sessions", "/nothing", "/api/v1/nothing", "/login"):
        headers = site.send("GET", path, site.cookie).headers

        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
