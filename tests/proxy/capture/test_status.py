import asyncio
import contextlib
import os
from pathlib import Path

from spanlore_proxy.capture.status import StatusFile, read_status


async def test_status_is_rewritten_every_interval(tmp_path: Path) -> None:
    """The file is what `describe` says now, with the event loop's delay, private, and never half."""
    numbers = iter(range(1000))
    status = StatusFile(tmp_path / "s.json", lambda: {"n": next(numbers), "lag": {"x": 1}}, interval_s=0.01)
    task = asyncio.create_task(status.run())
    await asyncio.sleep(0.2)
    first = read_status(tmp_path / "s.json")
    await asyncio.sleep(0.1)
    second = read_status(tmp_path / "s.json")
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task

    assert second["n"] > first["n"] > 0
    assert second["lag"].keys() == {"event_loop_ms", "x"}
    assert (tmp_path / "s.json").stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["s.json"]  # noqa: PTH208 - Path.iterdir would be another lint in async code


def test_an_unwritable_place_is_no_error(tmp_path: Path) -> None:
    """A disk that takes nothing does not stop the proxy."""
    StatusFile(tmp_path / "missing" / "s.json", dict).write()

    assert read_status(tmp_path / "missing" / "s.json") == {}


def test_a_torn_file_reads_as_nothing(tmp_path: Path) -> None:
    """What an older version or a crash left behind is not trusted."""
    (tmp_path / "s.json").write_text("[1")

    assert read_status(tmp_path / "s.json") == {}
