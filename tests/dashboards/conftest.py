"""One filled store for all dashboards."""

from collections.abc import Iterator

import pytest

from support.filled_store import Filled, filled_store


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    """Sessions, failures, costs, opportunities, memories."""
    with filled_store(tmp_path_factory.mktemp("filled")) as filled:
        yield filled
