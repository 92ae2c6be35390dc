"""Who may see the page, and what a browser may do with it.

- Only under a loopback name: against DNS rebinding, where a foreign page reaches 127.0.0.1 under its own name.
- `/login?token=…` (the URL that `spanlore up` prints) sets a cookie that scripts can't read; the API takes
  `Authorization: Bearer <token of the installation>`, and for reading the cookie too.
- Browsers send cookies of 127.0.0.1 to every port of it, so the cookie is made from the token and is not the token:
  whoever gets hold of it can open this page and nothing else.
- A form is accepted from this very origin only, with a value that another site can't know.
- The content security policy allows nothing inline and nothing from elsewhere.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from spanlore.loopback import is_loopback_host, is_secret

API: Final = "/api/"
OPEN_PATHS: Final = frozenset({"/healthz", "/login", "/favicon.ico"})
COOKIE: Final = "spanlore"
COOKIE_AGE_S: Final = 30 * 24 * 3600
FORM_FIELD: Final = "csrf"
HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Not `no-referrer`: browsers then send forms with `Origin: null`, and ours could not be told from others'.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


@dataclass(frozen=True, slots=True)
class Keys:
    """What opens the page."""

    token: str
    """The installation's; for programs."""
    login: str
    """In the URL that is printed; for people."""

    @property
    def cookie(self) -> str:
        """The cookie's value."""
        return self._derived("spanlore web cookie")

    @property
    def form(self) -> str:
        """What every form carries."""
        return self._derived("spanlore web form")

    def opens(self, given: str) -> bool:
        """Whether it is one of the two tokens."""
        return is_secret(given, self.login) or is_secret(given, self.token)

    def _derived(self, purpose: str) -> str:
        return hmac.new(self.token.encode(), purpose.encode(), "sha256").hexdigest()[:40]


def is_logged_in(request: web.Request, keys: Keys) -> bool:
    """By the cookie."""
    return is_secret(request.cookies.get(COOKIE, ""), keys.cookie)


def has_token(request: web.Request, keys: Keys) -> bool:
    """By `Authorization: Bearer`."""
    scheme, _, value = request.headers.get("Authorization", "").partition(" ")
    return scheme.lower() == "bearer" and is_secret(value.strip(), keys.token)


def is_own_form(request: web.Request, given: str, keys: Keys) -> bool:
    """Whether a form was sent from this page."""
    origin = request.headers.get("Origin", "")
    same = not origin or urlsplit(origin).netloc == request.headers.get("Host", "")
    site = request.headers.get("Sec-Fetch-Site", "same-origin")
    return same and site in ("same-origin", "none") and is_secret(given, keys.form)


def log_in(keys: Keys, target: str) -> web.Response:
    """Sets the cookie and goes to a page of ours."""
    answer = web.Response(status=303, headers={"Location": target})
    # Lax: a link from a Grafana on this machine opens the page; forms need `FORM_FIELD` anyway.
    answer.set_cookie(COOKIE, keys.cookie, max_age=COOKIE_AGE_S, httponly=True, samesite="Lax", path="/")
    return answer


def guard(keys: Keys, logged_out: Handler) -> Middleware:
    """Middleware that lets in whoever may, and sets the headers of every answer. `logged_out` answers the form of a
    person whose login has ended."""

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        refused = _refuse(request, keys)
        if refused is None:
            answer = await _answer(request, handler)
        elif refused.status == 401 and _is_persons_form(request):
            answer = await _answer(request, logged_out)
        else:
            answer = refused
        answer.headers.update(HEADERS)
        if "Cache-Control" not in answer.headers:
            answer.headers["Cache-Control"] = "no-store"
        return answer

    return check


async def _answer(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except web.HTTPException as error:
        if request.path.startswith(API):
            return problem(error.status, error.reason, {k: v for k, v in error.headers.items() if k == "Allow"})
        raise


def _is_persons_form(request: web.Request) -> bool:
    is_form = request.content_type == "application/x-www-form-urlencoded"
    return is_form and "text/html" in request.headers.get("Accept", "") and not request.path.startswith(API)


def _refuse(request: web.Request, keys: Keys) -> web.Response | None:
    if not is_loopback_host(request.headers.get("Host", "")):
        return problem(403, "the Host header must be a loopback name: 127.0.0.1, localhost or [::1]")
    if request.path in OPEN_PATHS or request.path.startswith("/static/"):
        return None
    is_reading = request.method in ("GET", "HEAD")
    if request.path.startswith(API):
        # A page elsewhere can make a browser send the cookie, but never this header.
        if has_token(request, keys) or (is_reading and is_logged_in(request, keys)):
            return None
        message = "give the token of this installation: `Authorization: Bearer <token>`"
        return problem(401, message, {"WWW-Authenticate": 'Bearer realm="spanlore"'})
    if is_logged_in(request, keys):
        return None
    if is_reading:
        return web.Response(status=303, headers={"Location": f"/login?next={quote(request.path_qs, safe='/')}"})
    return problem(401, "log in first: open the URL that `spanlore status` prints")


def problem(status: int, message: str, headers: dict[str, str] | None = None) -> web.Response:
    """An error as the API tells it: {"message": …}."""
    return web.json_response({"message": message}, status=status, headers=headers)
