"""The loop against a real daemon, small."""

from pathlib import Path

import pytest

from spanlore_proxy.closed_loop.command import row
from spanlore_proxy.closed_loop.loop import ARMS, Loop
from spanlore_proxy.closed_loop.policies import POLICIES


@pytest.mark.slow
def test_a_correction_is_learned_and_shown_in_its_own_repository_only(tmp_path: Path) -> None:
    """After one correction the learned arm makes no more; without, withheld and with a placebo it goes on."""
    arms = Loop(tmp_path, 3, lambda line: None, POLICIES[:1], usages=0, corrections=1).run()
    rows = {arm.name: row(arm) for arm in arms}

    assert list(rows) == list(ARMS)
    assert {name: found["repeated_corrections"] for name, found in rows.items()} == {
        "none": 2, "hand-written": 0, "learned": 0, "withheld": 2, "placebo": 2,
    }  # fmt: skip
    assert rows["learned"]["exposed_tokens"] > 0
    assert rows["placebo"]["exposed_tokens"] > 0
    assert rows["none"]["exposed_tokens"] == rows["withheld"]["exposed_tokens"] == 0
