"""What memories do, as it is shown."""

import pytest

from spanlore_collector.store.reader import Reader
from spanlore_dashboards.web.effects import Opportunity, parse_effects, read_opportunities
from support.web_story import EFFECTS


def test_an_effect_with_its_interval() -> None:
    """On a line from -1 to 1: where the interval begins, how wide it is, and where the difference is."""
    effect = parse_effects(EFFECTS)["m-000000000001"]

    assert (effect.verdict, effect.shown, effect.withheld) == ("helps", (2, 40), (12, 20))
    assert effect.bar == (7.5, 27.5, 22.5)
    assert effect.level == 0.99


def test_too_few_is_no_number() -> None:
    """Counts without a difference."""
    effect = parse_effects(EFFECTS)["m-000000000004"]

    assert (effect.verdict, effect.difference, effect.interval) == ("too few", None, None)


@pytest.mark.parametrize("text", [None, "", "[]", "{}", "{", '{"effects": {"m": 1}}', '{"effects": []}'])
def test_what_is_not_understood_is_left_out(text: str | None) -> None:
    """Nothing measured yet, or by another version."""
    assert parse_effects(text) == {}


def test_opportunities(reader: Reader) -> None:
    """Shown in two places of one session; the other was withheld."""
    assert read_opportunities(reader, "m-000000000001") == [
        Opportunity("failure_hint", "shown", "", 1, 1),
        Opportunity("session_block", "shown", "", 1, 1),
    ]
    assert [found.state for found in read_opportunities(reader, "m-000000000004")] == ["withheld"]
    assert read_opportunities(reader, "none") == []
