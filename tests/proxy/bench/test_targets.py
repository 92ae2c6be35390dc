"""Starting what the benchmark compares."""

from pathlib import Path

from spanlore_proxy.bench.bodies import conversation
from spanlore_proxy.bench.load import latencies_ms
from spanlore_proxy.bench.targets import stage


async def test_all_targets_answer_and_spanlore_has_everything_on(tmp_path: Path) -> None:
    """One request through each; spanlore's carried memories, was captured and lost nothing."""
    with stage(tmp_path) as running:
        names = [target.name for target in running.targets]
        talks = {name: conversation(10_000, 2, 1, name) for name in names}
        found = await latencies_ms(running.targets, talks, warm=0)
        counts = running.settled()

    assert names == ["direct", "bare mitmdump", "spanlore"]
    assert all(len(times) == 2 for times in found.values())
    assert counts["requests"] == counts["injected"] == counts["captured"] == counts["shipped"] == 3
    assert counts["lost"] == counts["passthrough"] == 0
