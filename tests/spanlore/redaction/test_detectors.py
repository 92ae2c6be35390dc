"""Secrets that tell what they are."""

from __future__ import annotations

import pytest

from spanlore.redaction.detectors import DETECTORS
from spanlore.redaction.redact import Redactor

REDACTOR = Redactor()
ALNUM = "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9fG1hJ3kL5mN7pQ9rS1tU3vW5xY7zA9bC1dE3fG5"
KEY_LINES = "MIIEpAIBAAKCAQEA1234567890abcdefghijklmnopqrstuvwxyzABCDEFGHIJKL\nabcd/EFGH+ijkl1234567890mnop"

# Put together at run time, so that no scanner takes this file for a leak.
SECRETS = {
    "api_key": ["sk-" + ALNUM[:48], "sk-proj-ab_c-" + ALNUM[:40], "sk-ant-api03-x_y-" + ALNUM[:60] + "-AA"],
    "github_token": ["ghp_" + ALNUM[:36], "github_pat_" + ALNUM[:22] + "_" + ALNUM[:40]],
    "gitlab_token": ["glpat-" + ALNUM[:20]],
    "aws_access_key": ["AKIA" + "IOSFODNN7EXAMPLE"],
    "slack_token": ["xoxb-" + "1234567890-abcdefghijkl"],
    "google_api_key": ["AIza" + ALNUM[:35]],
    "google_token": ["ya29." + ALNUM[:40]],
    "stripe_key": ["sk_live_" + ALNUM[:24]],
    "npm_token": ["npm_" + ALNUM[:36]],
    "pypi_token": ["pypi-AgE" + ALNUM],
    "huggingface_token": ["hf_" + ALNUM[:34]],
    "sendgrid_key": ["SG." + ALNUM[:22] + "." + ALNUM[:43]],
    "groq_key": ["gsk_" + ALNUM[:52]],
    "xai_key": ["xai-" + ALNUM[:80]],
    "digitalocean_token": ["dop_v1_" + "0123456789abcdef" * 4],
    "shopify_token": ["shpat_" + "0123456789abcdef" * 2],
    "vault_token": ["hvs." + ALNUM[:24]],
    "atlassian_token": ["ATATT3" + ALNUM[:60]],
    "docker_token": ["dckr_pat_" + ALNUM[:27]],
    "linear_key": ["lin_api_" + ALNUM[:40]],
    "notion_token": ["ntn_" + ALNUM[:46]],
    "sentry_token": ["sntrys_" + ALNUM[:60]],
    "square_token": ["sq0atp-" + ALNUM[:22]],
    "age_key": ["AGE-SECRET-KEY-1" + "QPZRY9X8GF" * 6],
    "jwt": ["eyJ" + "hbGciOiJIUzI1NiJ9" + ".eyJ" + "zdWIiOiIxMjM0NTY3ODkwIn0" + "." + ALNUM[:43]],
}  # fmt: skip

IN_PLACE = [
    ("AccountKey=", "x" * 86 + "==", ";EndpointSuffix=core", "azure_storage_key"),
    ("https://hooks.slack.com/services/", "T012/B345/" + ALNUM[:24], " ", "slack_webhook"),
    ("Authorization: Bearer ", "abc.def123.ghijklmnop", "\r\n", "bearer"),
    ('"authorization": "Basic ', "dXNlcjpwYXNzd29yZA==", '"', "basic_auth"),
    ("postgres://app:", "s3cr3tpw", "@db.internal:5432/x", "url_password"),
    ("https://x-access-token:", "hidden", "@github.com/a/b.git", "url_password"),
    ("curl -s -u admin:", "swordfish", " https://x.example", "basic_auth"),
    ("mysql -h db -u root -p", "Sw0rdfish!", " -e 'select 1'", "password"),
    ("sshpass -p '", "swordfish", "' ssh host", "password"),
    ("machine api.example login bob password ", "swordfish", "\n", "password"),
    ('{"auths": {"r.example": {"auth": "', "Ym9iOlRyMHViNGRvcg==", '"}}}', "basic_auth"),
    ("-H 'Cookie: ", "sid=" + ALNUM[:32] + "; theme=dark", "'", "cookie"),
    ("Set-Cookie: ", "sid=" + ALNUM[:32], "; Path=/; HttpOnly", "cookie"),
    ("-----BEGIN RSA PRIVATE KEY-----", "\n" + KEY_LINES + "\n", "-----END RSA PRIVATE KEY-----", "private_key"),
    (
        "-----BEGIN PRIVATE KEY-----",
        "\\n" + KEY_LINES.replace("\n", "\\n"),
        "\\n-----END PRIVATE KEY-----",
        "private_key",
    ),
    (
        "   1→-----BEGIN PRIVATE KEY-----",
        "\n   2→" + KEY_LINES.replace("\n", "\n   3→"),
        "\n   4→-----END",
        "private_key",
    ),
    ("-----BEGIN OPENSSH PRIVATE KEY-----", "\n" + KEY_LINES, "", "private_key"),
]


@pytest.mark.parametrize(("label", "secret"), [(label, secret) for label in SECRETS for secret in SECRETS[label]])
@pytest.mark.parametrize("around", ["{}", "say {} now", "'{}'", '{{"a": "{}"}}', "x={}\n", "({}),"])
def test_tokens(label: str, secret: str, around: str) -> None:
    """An issuer's token is replaced wherever it stands, and its kind is told."""
    redacted = REDACTOR.redact(around.format(secret))

    assert secret not in redacted.text
    assert redacted.text == around.format(f"[redacted:{label}]")


@pytest.mark.parametrize(("before", "secret", "after", "label"), IN_PLACE)
def test_secrets_in_their_place(before: str, secret: str, after: str, label: str) -> None:
    """A password is replaced where its place tells what it is; what stands around it stays."""
    text = REDACTOR.redact(f"one {before}{secret}{after} two").text

    assert text.replace("\n[", "[").startswith(f"one {before}[redacted:{label}]")
    assert secret.strip() not in text
    assert after.strip() in text


@pytest.mark.parametrize(
    "text",
    [
        "task-force-with-a-very-long-name-12345678",
        "sk-fading-circle-10-dots-container",
        "http://localhost:8080/user@host",
        "git@github.com:owner/name.git",
        "https://user@host.example/path",
        "postgres://app:${DB_PASSWORD}@db/x",
        "postgres://app:<password>@db/x",
        "Bearer authentication is used here",
        "Bearer $TOKEN_1234567890123456",
        'if "-----BEGIN PRIVATE KEY-----" in text:',
        "-----BEGIN CERTIFICATE-----\nMIIEpAIBAAKCAQEA1234567890abcdefghij\n-----END CERTIFICATE-----",
        "eyJhbGciOiJIUzI1NiJ9 is a header alone",
        "curl -s https://x.example/a:b",
        "mkdir -p mysql-data && mysql -u root -e 'select 1'",
        "docker run -p 3306:3306 mysql; tar -pxf a.tar",
        "login to the service with a password manager",
        '"auth": "required", "author": "QWRhIExvdmVsYWNl"',
        "Cookie: theme=dark; lang=en",
        "MAKIAIOSFODNN7EXAMPLE",
    ],
)
def test_look_alikes(text: str) -> None:
    """What only looks like a secret stays."""
    assert REDACTOR.redact(text) == type(REDACTOR.redact(""))(text, 0)


def test_literals_are_lower_case() -> None:
    """The automaton runs over lower-cased text."""
    assert all(literal == literal.lower() for detector in DETECTORS for literal in detector.literals)
