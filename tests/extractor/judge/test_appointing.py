from pathlib import Path

from spanlore.settings import Paths, Settings
from spanlore_extractor.judge.appointing import caps_of, judge_of


def test_no_key_no_judge(tmp_path: Path) -> None:
    """Nothing is ever asked by default; with a key the settings say where and how much."""
    paths = Paths(tmp_path, tmp_path)
    keyed = Settings.model_validate({"judge": {"api_key": "k", "model": "small", "max_tokens_per_day": 7}})
    with judge_of(Settings(), paths, 1) as none:
        assert none is None
    with judge_of(keyed, paths, 1) as judge:
        assert judge is not None and judge.model.name == "small" and judge.caps == caps_of(keyed)
    assert caps_of(keyed).day_tokens == 7
