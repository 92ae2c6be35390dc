from collections.abc import Iterator
from pathlib import Path

import pytest

from spanlore.settings import Paths, Settings
from spanlore.spans.price import use_own_prices
from spanlore_extractor.judge.appointing import caps_of, judge_of
from spanlore_extractor.judge.rehearsal import REHEARSAL
from support.judging import fair
from support.model_server import ModelServer


@pytest.fixture(autouse=True)
def _no_own_prices() -> Iterator[None]:
    yield
    use_own_prices({})


def test_no_key_no_judge(tmp_path: Path) -> None:
    """Nothing is ever asked by default; with a key the settings say where and how much."""
    paths = Paths(tmp_path, tmp_path)
    keyed = Settings.model_validate({"judge": {"api_key": "k", "model": "small", "max_tokens_per_day": 7}})
    with judge_of(Settings(), paths, 1) as none:
        assert none is None
    with judge_of(keyed, paths, 1) as judge:
        assert judge is not None and judge.model.name == "small" and judge.caps == caps_of(keyed)
    assert caps_of(keyed).day_tokens == 7


def test_what_the_judge_costs_counts_in_own_prices(tmp_path: Path) -> None:
    """A model that no price list knows costs what its user says, so the cap in dollars holds for it."""
    with ModelServer(fair) as server:
        told = {"judge": {"api_key": "k", "model": "my-own", "base_url": server.url}, "prices": {"my-own": "1/2"}}
        with judge_of(Settings.model_validate(told), Paths(tmp_path, tmp_path), 1) as judge:
            assert judge is not None
            answer = judge.model.ask("static text", REHEARSAL.text)

    assert answer.cost.usd is not None and answer.cost.usd > 0
