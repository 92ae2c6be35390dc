"""The store's size as a result."""

from __future__ import annotations

from typing import Any

import pytest

from spanlore_collector.bench.store import result_of


def sizes(disk: int, content: int) -> dict[str, Any]:
    return {
        "disk_bytes": disk,
        "search_index_bytes": 1,
        "content_bytes": content,
        "sent_bytes": 10,
        "tables": {"content": disk},
    }


@pytest.mark.parametrize(("disk", "within"), [(50, True), (51, False)])
def test_disk_is_measured_against_distinct_content(disk: int, within: bool) -> None:
    """Half of the distinct content is the budget; resending is told in times."""
    result = result_of(3, {"new": sizes(disk, 100), "resent": sizes(2 * disk, 100)})

    assert result["within_budget"] is within
    assert result["rows"][-1]["times_on_disk"] == 2.0
