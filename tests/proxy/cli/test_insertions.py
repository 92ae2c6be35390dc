"""Whatever is inserted into a recorded request comes out again, byte for byte."""

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from typer.testing import CliRunner

from spanlore.genai.inference import Dialect
from spanlore.main import build
from spanlore_proxy.cli import insertions
from spanlore_proxy.wire.dialect import Endpoint, Kind
from support.recordings import ROOT

DIALECTS = {
    "anthropic": Dialect.ANTHROPIC_MESSAGES,
    "openai_chat": Dialect.OPENAI_CHAT,
    "openai_responses": Dialect.OPENAI_RESPONSES,
    "gemini": Dialect.GEMINI,
}


def recorded() -> Iterator[tuple[str, Path]]:
    """Every recorded request of a dialect that can be rewritten."""
    for name in DIALECTS:
        for path in sorted((ROOT / name).glob("*.json")):
            if path.name.endswith((".request.json", ".next.json")):
                yield name, path


@pytest.mark.parametrize(("name", "path"), list(recorded()), ids=lambda one: one.name if isinstance(one, Path) else one)
def test_recorded_bodies_come_back(name: str, path: Path) -> None:
    """At every place that has room, with texts full of quotes, escapes and wide characters."""
    tally = insertions.Tally()
    endpoint = Endpoint(DIALECTS[name], "x", "chat", Kind.INFERENCE, model="m")
    insertions.take(tally, path.read_bytes(), endpoint, path.name)

    assert tally.broken == []
    assert tally.rewritten == 1 or set(tally.left_alone) <= {"no_input", "cached_content", "malformed"}


def test_something_is_recorded_of_every_dialect() -> None:
    """Else the test above would be empty."""
    assert {name for name, _ in recorded()} == set(DIALECTS)


def test_the_command_tells_what_was_left_alone(tmp_path: Path) -> None:
    """A folder with one exchange; then one that is none."""
    cassette = {
        "interactions": [
            {
                "request": {
                    "method": "POST",
                    "uri": "https://api.anthropic.com/v1/messages",
                    "headers": {},
                    "body": orjson.dumps(
                        {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "hi"}]}
                    ).decode(),
                },
                "response": {
                    "status": {"code": 200},
                    "headers": {"content-type": ["application/json"]},
                    "body": {"string": "{}"},
                },
            }
        ]
    }
    (tmp_path / "one.yaml").write_bytes(orjson.dumps(cassette))
    result = CliRunner().invoke(build(), ["eval", "insertions", str(tmp_path), "--json"])
    [row] = orjson.loads(result.stdout.splitlines()[-1])["rows"]

    assert result.exit_code == 0
    assert (row["bodies"], row["rewritten"], row["broken"]) == (1, 1, 0)
    assert CliRunner().invoke(build(), ["eval", "insertions", str(tmp_path / "none")]).exit_code == 2


def test_a_broken_body_is_a_failure() -> None:
    """The budget can be broken."""
    tally = insertions.Tally(bodies=1, broken=["x: y"])

    assert not insertions.judge({"anthropic_messages": tally})["within_budget"]
    assert insertions.judge({"anthropic_messages": insertions.Tally(1, 1)})["within_budget"]
