"""Secrets that tell what they are: by their issuer's prefix, or by where they stand.

A detector begins with a literal that must be in the text (lower case, found in one pass by `redact`); its pattern is
then tried where the literal was found. Prefixes: the issuers' documentation, detect-secrets' plugins (Yelp, Apache-2.0)
and GitHub's list of secret-scanning patterns. Patterns work on UTF-8 bytes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_WORD: Final = rb"[A-Za-z0-9_-]"


@dataclass(frozen=True, slots=True)
class Detector:
    """One kind of secret."""

    label: str
    """What the placeholder says: `[redacted:LABEL]`."""
    literals: tuple[bytes, ...]
    """Lower case. The pattern is tried at each place where one stands, in any case."""
    pattern: re.Pattern[bytes]
    """Matched from the literal on. Its group `secret` is replaced, or the whole match when it has none."""
    starts_word: bool = True
    """The literal must not follow a letter or digit."""


def _token(label: str, prefixes: str, rest: bytes) -> Detector:
    literals = tuple(prefix.lower().encode() for prefix in prefixes.split())
    alternatives = b"|".join(re.escape(prefix.encode()) for prefix in prefixes.split())
    return Detector(label, literals, re.compile(rb"(?:" + alternatives + rb")" + rest))


_KEY_LINE_START: Final = rb"(?:\s|\\[nrt])++(?:[0-9]{1,6}(?:\t|\xe2\x86\x92|: ?|\|))?[\"'+ \t]*+"
"""Before each line of a private key: a line end, plain or escaped, a line number that a tool put there, quotes."""

_AT_LEAST_20: Final = _WORD + rb"{20,}"

DETECTORS: Final[tuple[Detector, ...]] = (
    # `sk-` is OpenAI's, and with more words Anthropic's, OpenRouter's and others'; a CSS class has no such long word.
    _token("api_key", "sk-", rb"(?=[A-Za-z_-]*[0-9])(?:ant-" + _WORD + rb"{20}|(?:\w+-)*\w{16})" + _WORD + rb"*"),
    _token("github_token", "ghp_ gho_ ghu_ ghs_ ghr_", rb"[A-Za-z0-9]{36,}"),
    _token("github_token", "github_pat_", rb"[A-Za-z0-9_]{22,}"),
    _token("gitlab_token", "glpat- gldt- glft- glsoat- glrt- glcbt- glimt- glptt- glagent- gloas-", _AT_LEAST_20),
    _token("aws_access_key", "AKIA ASIA ABIA ACCA", rb"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _token("slack_token", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", rb"[A-Za-z0-9-]{10,}"),
    _token("google_api_key", "AIza", _WORD + rb"{35}"),
    _token("google_token", "ya29. GOCSPX-", _AT_LEAST_20),
    _token("stripe_key", "sk_live_ sk_test_ rk_live_ rk_test_ whsec_", rb"[A-Za-z0-9]{16,}"),
    _token("npm_token", "npm_", rb"[A-Za-z0-9]{36}"),
    _token("pypi_token", "pypi-AgE", _WORD + rb"{50,}"),
    _token("huggingface_token", "hf_", rb"[A-Za-z0-9]{30,}"),
    _token("sendgrid_key", "SG.", _WORD + rb"{16,}\." + _WORD + rb"{16,}"),
    _token("groq_key", "gsk_", rb"[A-Za-z0-9]{40,}"),
    _token("xai_key", "xai-", rb"[A-Za-z0-9]{40,}"),
    _token("api_key", "pplx- nvapi- tvly- r8_ figd_ fw_ csk-", rb"(?=[A-Za-z_-]*[0-9])" + _WORD + rb"{32,}"),
    _token("digitalocean_token", "dop_v1_ doo_v1_ dor_v1_", rb"[a-f0-9]{64}"),
    _token("shopify_token", "shpat_ shpca_ shppa_ shpss_", rb"[A-Fa-f0-9]{32}"),
    _token("vault_token", "hvs. hvb.", _AT_LEAST_20),
    _token("atlassian_token", "ATATT3", rb"[A-Za-z0-9_=-]{50,}"),
    _token("docker_token", "dckr_pat_ dckr_oat_", _AT_LEAST_20),
    _token("linear_key", "lin_api_", rb"[A-Za-z0-9]{32,}"),
    _token("notion_token", "ntn_", rb"[A-Za-z0-9]{40,}"),
    _token("sentry_token", "sntrys_ sntryu_", rb"[A-Za-z0-9_=+/-]{30,}"),
    _token("square_token", "sq0atp- sq0csp-", _AT_LEAST_20),
    _token("age_key", "AGE-SECRET-KEY-1", rb"[A-Z0-9]{50,}"),
    _token("jwt", "eyJ", rb"[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    Detector("azure_storage_key", (b"accountkey=",), re.compile(rb"(?i:AccountKey)=(?P<secret>[A-Za-z0-9+/=]{80,})")),
    Detector(
        "slack_webhook",
        (b"hooks.slack.com/services/",),
        re.compile(rb"(?i:hooks\.slack\.com/services)/(?P<secret>T[A-Za-z0-9_]+/B[A-Za-z0-9_]+/[A-Za-z0-9_]+)"),
        starts_word=False,
    ),
    Detector(
        "bearer",
        (b"bearer",),
        re.compile(rb"(?i:bearer)[ \t:]{1,3}\\?[\"']?(?P<secret>(?=[A-Za-z._~+/=-]*[0-9])[A-Za-z0-9._~+/=-]{16,})"),
    ),
    Detector(
        "basic_auth",
        (b"authorization",),
        re.compile(rb"(?i:authorization\\?[\"']?\s?[:=,]\s?\\?[\"']?basic)\s+(?P<secret>[A-Za-z0-9+/]{6,}={0,2})"),
        starts_word=False,
    ),
    # user:password@host in a URL. A variable (`$`, `{`, `<`, `%`) or a mask in the password's place is none.
    Detector(
        "url_password",
        (b"://",),
        re.compile(
            rb"://[^\s/:@\"'`<>\\(){}\[\]]{0,80}:"
            rb"(?P<secret>(?![$%*<{\[])[^\s/@\"'`<>\\{}\[\]]{3,})@(?=[A-Za-z0-9\[_.$-])"
        ),
        starts_word=False,
    ),
    Detector(
        "basic_auth",
        (b"curl",),
        re.compile(
            rb"curl\b[^\n|;&]{0,300}?\s(?:-u|--user)[ =]?[\"']?[^\s:\"'$]{1,80}:"
            rb"(?P<secret>(?![$%*<{\[])[^\s\"'`$]{3,})"
        ),
    ),
    Detector(
        "password",
        (b"mysql", b"mariadb", b"sshpass"),
        re.compile(
            rb"(?i:mysql|mariadb|sshpass)[\w-]*(?=\s)[^\n|;&]{0,200}?\s-p(?:(?<=pass -p)\s)?\\?[\"']?"
            rb"(?P<secret>(?![$%*<{\[])[^\s\"'`$\\]{4,})"
        ),
    ),
    Detector(
        "password",
        (b"login",),
        re.compile(
            rb"(?i:login)(?:\s|\\n){1,16}\S{1,80}?(?:\s|\\n){1,16}(?i:password)(?:\s|\\n){1,16}(?P<secret>[^\s\\\"']{4,})"
        ),
    ),
    # Docker's config.json: base64 of user:password.
    Detector(
        "basic_auth",
        (b'"auth',),
        re.compile(
            rb"\"auth\\?\"\s?:\s?\\?\"(?P<secret>(?=[a-z+/]*[A-Z0-9=])(?:[A-Za-z0-9+/]{4}){2,}"
            rb"(?:[A-Za-z0-9+/]{2,3}={1,2})?)(?=\\?\")"
        ),
        starts_word=False,
    ),
    Detector(
        "cookie",
        (b"cookie",),
        re.compile(
            rb"(?i:cookie)\\?[\"']?\s?:\s?\\?[\"']?(?P<secret>[\w.%-]{1,80}="
            rb"(?=[^\s;\"'\\]*[0-9])[^\s;\"'\\]{16,}(?:;\s?(?!(?i:path|domain|max-age|expires|samesite)=)[\w.%-]{1,80}=[^\s;\"'\\]*)*)"
        ),
    ),
    Detector(
        "private_key",
        (b"-----begin",),
        re.compile(
            rb"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
            rb"(?P<secret>(?:" + _KEY_LINE_START + rb"(?:[A-Za-z][A-Za-z-]{2,20}: [^\n\\]{1,80}|[A-Za-z0-9+/=]{16,})"
            rb"[\"',+ \t]*+)+(?:" + _KEY_LINE_START + rb"[A-Za-z0-9+/=]{1,15}(?=" + _KEY_LINE_START + rb"-----END))?)"
        ),
        starts_word=False,
    ),
)
