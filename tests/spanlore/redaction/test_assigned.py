"""Secrets known by the name they are given to."""

from __future__ import annotations

import pytest

from spanlore.redaction.assigned import entropy_bits, find_assigned
from spanlore.redaction.redact import Redactor

REDACTOR = Redactor()


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("export DB_PASSWORD=letmein", "export DB_PASSWORD=[redacted:password]"),
        ("GH_TOKEN='dummyvalue'", "GH_TOKEN='dummyvalue'"),
        ("STRIPE_SECRET_KEY=abc", "STRIPE_SECRET_KEY=abc"),
        ("JWT_SECRET_KEY=correct", "JWT_SECRET_KEY=[redacted:secret]"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPx", "AWS_SECRET_ACCESS_KEY=[redacted:secret]"),
        ('{"password": "hunter2!"}', '{"password": "[redacted:password]"}'),
        (r'"{\"api_key\": \"abcd1234efgh5678\"}"', r'"{\"api_key\": \"[redacted:api_key]\"}"'),
        ("SMTP_PASS=opensesame", "SMTP_PASS=[redacted:password]"),
        ("password: hunter2", "password: [redacted:password]"),
        ("db.passwd = 'tr0ub4dor'", "db.passwd = '[redacted:password]'"),
        ('os.environ["API_TOKEN"] = "tok_99887766"', 'os.environ["API_TOKEN"] = "[redacted:token]"'),
        ('password: str = "hunter22"', 'password: str = "[redacted:password]"'),
        ('clientSecret: "a1b2c3d4e5"', 'clientSecret: "[redacted:secret]"'),
        ("mysql --password=Tr0ub4dor -h db", "mysql --password=[redacted:password] -h db"),
        ("deploy --token abcdef1234567890", "deploy --token [redacted:token]"),
        ("//registry.example/:_authToken=0a1b2c3d-4e5f-6071-8293", "//registry.example/:_authToken=[redacted:token]"),
        ('if password == "hunter2":', 'if password == "[redacted:password]":'),
        ("my password is Tr0ub4dor!", "my password is [redacted:password]"),
        ("my password is hunter0", "my password is [redacted:password]"),
        ("my password is hunter9", "my password is [redacted:password]"),
        ("password: opensesame!", "password: [redacted:password]"),
        ("token = 'abcdefg1'", "token = '[redacted:token]'"),
        ("token = abcdefghijk1", "token = [redacted:token]"),
        ("secret = 'abcdefghijklmn+P'", "secret = '[redacted:secret]'"),
        ("- name: DB_PASSWORD\n  value: opensesame", "- name: DB_PASSWORD\n  value: [redacted:password]"),
        ('{"name": "API_TOKEN", "value": "tok_99887766"}', '{"name": "API_TOKEN", "value": "[redacted:token]"}'),
        ('FOO_KEY = "aB3dE5fG7hI9jK1lM3nO5pQ7rS9t"', 'FOO_KEY = "[redacted:high_entropy]"'),
    ],
)
def test_assignments(text: str, clean: str) -> None:
    """The value is replaced, the name stays: env files, shell, JSON, YAML, code and options."""
    assert REDACTOR.redact(text).text == clean


@pytest.mark.parametrize(
    "text",
    [
        "max_tokens: 200000000",
        "the password is wrong! the token is required",
        "- name: DB_PASSWORD\n  valueFrom: {secretKeyRef: x1}",
        "the secret, value: 12",
        "input_tokens=12345678901",
        "token: 12345678901234567890",
        "password: opensesame",
        "token = 'abcdef1'",
        "token = abcdefghij1",
        "secret = 'abcdefghijklm+P'",
        "secret = 'abcdefghijklmno+p'",
        'token_type: "bearer12345"',
        'tokenizer = "cl100k_base_2"',
        "commit 5f3a9c0b1d2e4f5a6b7c8d9e0f1a2b3c4d5e6f70",
        "id: 550e8400-e29b-41d4-a716-446655440000",
        '"integrity": "sha512-abcDEF123456789/abcDEF123456789+abcDEF123456789abcDEF1234567890abc==",',
        "token = get_token2(request)",
        "token = tokens[0]",
        "password = settings.password1",
        "API_KEY=$OTHER_KEY1",
        "API_KEY=${API_KEY2:-x}",
        "API_KEY=sk-...",
        "API_KEY=your-api-key-123",
        "SECRET_FILE=/run/secrets/db1",
        "PWD=/home/me/project1",
        "OLDPWD=/x/y/z1",
        '"token": "Enter your token here 1"',
        "primary_key=True, foreign_key='users.id'",
        "cache-key: v1-linux-node-20-a1b2c3d4e5f6a1b2c3d4e5f6",
        "the secret is out; token: the thing",
        'password = "[redacted:password]"',
        "export PUBLIC_KEY=aB3dE5fG7hI9jK1lM3nO5pQ7rS9t",
        "const keyword = 'something_long_and_nice_here_2'",
    ],
)
def test_everyday_text(text: str) -> None:
    """Counts, variables, paths, calls, placeholders, hashes and plain words stay."""
    assert REDACTOR.redact(text).text == text


def test_where_it_stands() -> None:
    """Positions are in bytes, of the value alone."""
    data = "é password='hünter2'".encode()
    found = find_assigned(data, b"passw", data.index(b"passw"))

    assert found is not None
    assert (data[found.start : found.end].decode(), found.label) == ("hünter2", "password")


def test_entropy() -> None:
    """Bits a byte: none for one letter, six for sixty-four different ones."""
    assert entropy_bits(b"aaaa") == 0
    assert entropy_bits(bytes(range(64))) == 6
