"""Cache loss: none by spanlore, and the models would see one."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner

from spanlore.main import build
from spanlore_proxy.bench import cache
from spanlore_proxy.bench.automatic_cache import AutomaticCache
from spanlore_proxy.bench.cache_sessions import anthropic_bodies, chat_bodies
from spanlore_proxy.demo.prompt_cache import PromptCache


def test_sessions_of_30_requests_lose_nothing(tmp_path: Path) -> None:
    """On both models; every request carries a memory, and no alarm is raised."""
    result = cache.measure(tmp_path, [30])

    assert result["within_budget"]
    assert [row["requests injected count"] for row in result["rows"]] == [30, 30]
    for row in result["rows"]:
        assert row["captured loss"] == 0
        assert row["not from cache added tokens"] < row["input added tokens"] / 5


@pytest.mark.parametrize(("bodies", "model"), [(anthropic_bodies, PromptCache), (chat_bodies, AutomaticCache)])
def test_the_models_see_a_text_that_changes_every_turn(bodies: Callable[[int], Iterable[bytes]], model: Any) -> None:
    """A time of day in the system prompt costs nearly everything: the benchmark can fail."""
    sent = [orjson.loads(body) for body in bodies(30)]
    read, total = cache.account((orjson.dumps(document) for document in sent), model())
    spoiled_read, spoiled_total = cache.account((_spoiled(document, n) for n, document in enumerate(sent)), model())

    assert read / total - spoiled_read / spoiled_total > 0.3


@pytest.mark.parametrize(("key", "value"), [("injected loss", 0.0011), ("prefix alarms count", 1)])
def test_a_loss_over_the_budget_is_told(tmp_path: Path, key: str, value: float) -> None:
    """Neither a loss nor an alarm is within budget."""
    [row, *_] = cache.measure(tmp_path, [30])["rows"]

    assert cache.judge([row])["within_budget"]
    assert not cache.judge([{**row, key: value}])["within_budget"]


def test_the_command_prints_one_json_object_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the table, for scripts."""
    monkeypatch.setattr(cache, "LENGTHS", (30,))
    monkeypatch.setattr(cache.measure, "__defaults__", ((30,),))
    result = CliRunner().invoke(build(), ["bench", "cache", "--json"])

    assert result.exit_code == 0
    assert orjson.loads(result.stdout.splitlines()[-1])["bench"] == "cache"
    assert max(map(len, result.stdout.splitlines()[:-1])) <= 80


def _spoiled(document: dict[str, Any], number: int) -> bytes:
    if "system" in document:
        first, *rest = document["system"]
        return orjson.dumps({**document, "system": [{**first, "text": f"{number} {first['text']}"}, *rest]})
    first, *rest = document["messages"]
    return orjson.dumps({**document, "messages": [{**first, "content": f"{number} {first['content']}"}, *rest]})
