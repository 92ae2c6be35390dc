from collections.abc import Iterator

import pytest

from support.collecting import Collecting, collecting


@pytest.fixture(scope="session")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collecting]:
    """One collector for all tests that need a store; each has sessions and a repository of its own."""
    with collecting(tmp_path_factory.mktemp("collector")) as running:
        yield running
