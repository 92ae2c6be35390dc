"""Secrets planted everywhere a coding agent meets them, and everything that spanlore keeps, to look for them in.

The values are made at run time from a seed, so that no scanner takes this file for a leak.
"""

from __future__ import annotations

import base64
import json
import random
import sqlite3
import string
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import zstandard

from spanlore_proxy.demo.store_view import StoreView

ALNUM = string.ascii_letters + string.digits


@dataclass
class Planted:
    """Makes secrets and remembers where each was put."""

    random: random.Random = field(default_factory=lambda: random.Random(4711))
    places: dict[str, str] = field(default_factory=dict)
    """Secret → place."""

    def secret(self, place: str, size: int = 40, prefix: str = "", letters: str = ALNUM) -> str:
        """A secret of `size` random characters after `prefix`."""
        value = prefix + "".join(self.random.choices(letters, k=size))
        self.places[value] = place
        return value

    def password(self, place: str) -> str:
        return self.secret(place, 8, "Tr0ub4dor") + "!"

    def key(self, place: str) -> str:
        """Of the provider's own kind."""
        return self.secret(place, 40, "sk-ant-api03-")

    def pem(self, place: str) -> str:
        """A private key; each of its lines counts."""
        lines = [self.secret(f"{place}, line {number}", 64) for number in range(4)]
        return "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *lines, "-----END RSA PRIVATE KEY-----"])


def prompt(plant: Planted) -> str:
    """What a person pastes."""
    tokens = (
        plant.key("prompt: anthropic"),
        plant.secret("prompt: openai", 48, "sk-proj-"),
        plant.secret("prompt: github", 36, "ghp_"),
        plant.secret("prompt: gitlab", 20, "glpat-"),
        plant.secret("prompt: aws id", 16, "AKIA", string.ascii_uppercase),
        plant.secret("prompt: google", 35, "AIza"),
        plant.secret("prompt: slack", 24, "xoxb-"),
        plant.secret("prompt: npm", 36, "npm_"),
    )
    said = f"My password is {plant.password('prompt: prose')} and DB_PASSWORD={plant.password('prompt: assignment')}"
    return f"Use {', '.join(tokens)}. {said}"


def command(plant: Planted) -> str:
    """What a model runs."""
    return "; ".join(
        (
            (
                f"curl -H 'Authorization: Bearer {plant.secret('curl: bearer')}' -u bob:{plant.password('curl: user')} "
                f"'https://api.example.org/?api_key={plant.secret('curl: query')}'"
            ),
            f"mysql -u root -p{plant.password('mysql -p')} -e 'select 1'",
            f"PGPASSWORD={plant.password('PGPASSWORD')} psql -h db",
            f"docker login -u me --password {plant.password('--password')} r.example.org",
        )
    )


def arguments(plant: Planted) -> dict[str, Any]:
    """Of a tool whose secrets are told by the names of its arguments."""
    return {
        "password": plant.password("argument: password"),
        "headers": {
            "X-Api-Key": plant.secret("argument: x-api-key", 32),
            "Authorization": f"Bearer {plant.secret('argument: bearer')}",
            "Cookie": f"session={plant.secret('argument: cookie')}",
        },
        "env": [{"name": "DB_PASSWORD", "value": plant.password("argument: name and value")}],
        plant.secret("argument: a key of an object", 36, "ghp_"): True,
    }


def output(plant: Planted) -> str:
    """What tools print: `.env`, YAML, JSON, netrc, Docker's configuration, private keys with and without numbers."""
    basic = base64.b64encode(f"bob:{plant.password('docker: password')}".encode()).decode()
    plant.places[basic] = "docker: base64"
    numbered = (f"{number:6d}\t{line}" for number, line in enumerate(plant.pem("numbered key").split("\n"), 1))
    return "\n".join(
        (
            f"DATABASE_URL=postgres://app:{plant.secret('.env: url', 16)}@db.internal:5432/x",
            f"SECRET_KEY={plant.secret('.env: secret key', 50)}",
            f'JWT_SECRET="{plant.secret(".env: quoted", 32)}"',
            f"  password: {plant.password('yaml')}",
            json.dumps({"access_token": plant.secret("json: access token"), "auths": {"r": {"auth": basic}}}),
            f"machine api.example.org login bob password {plant.password('netrc')}",
            plant.pem("private key"),
            *numbered,
        )
    )


def kept(state_dir: Path, store: StoreView) -> dict[str, str]:
    """All that spanlore keeps, as text: every file, every row of SQLite (unpacked) and of the store."""
    found = {
        str(path.relative_to(state_dir)): path.read_bytes().decode("latin-1")
        for path in state_dir.rglob("*")
        if path.is_file()
    }
    for path in state_dir.glob("*.sqlite"):
        found[f"rows of {path.name}"] = _rows(path)
    for row in store.rows("SELECT name FROM system.tables WHERE database = 'spanlore'"):
        table = row["name"]
        found[f"table {table}"] = json.dumps(store.rows(f"SELECT * FROM {table}"), ensure_ascii=False)
    return found


def leaks(plant: Planted, found: dict[str, str]) -> list[str]:
    """Each planted secret that stands in what is kept, or half of it does, and where."""
    out = []
    for secret, place in plant.places.items():
        part = secret[: max(len(secret) // 2 + 4, 16)]
        where = [name for name, text in found.items() if part in text]
        out += [f"{place} in {', '.join(where)}"] if where else []
    return out


def _rows(path: Path) -> str:
    unpack = zstandard.ZstdDecompressor().decompress
    database = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    words: list[str] = []
    try:
        for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            for value in (value for row in database.execute(f"SELECT * FROM {table}") for value in row):
                is_packed = isinstance(value, bytes) and value.startswith(b"\x28\xb5\x2f\xfd")
                data = unpack(value, max_output_size=2**26) if is_packed else value
                words.append(data.decode("latin-1") if isinstance(data, bytes) else str(data))
    finally:
        database.close()
    return "\n".join(words)
