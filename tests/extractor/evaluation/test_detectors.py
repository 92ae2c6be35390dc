import json
from pathlib import Path
from typing import Any

from spanlore_extractor.evaluation.detectors import evaluate, table

FILE = "sessions/mini-swe-agent/a__b/c.json"


def folder(root: Path, labels: list[dict[str, Any]]) -> Path:
    """One session in which `rtk` fails and `bun` works, and its labels."""
    calls = [("rtk bun test", 2, "error: unrecognized subcommand 'bun'"), ("ls", 0, "a"), ("bun test", 0, "ok")]
    messages: list[dict[str, Any]] = []
    for number, (command, code, output) in enumerate(calls):
        function = {"name": "bash", "arguments": json.dumps({"command": command})}
        messages.append({"role": "assistant", "tool_calls": [{"id": f"q{number}", "function": function}]})
        text = f"<returncode>{code}</returncode>\n<output>\n{output}</output>"
        messages.append({"role": "tool", "tool_call_id": f"q{number}", "content": text})
    (root / FILE).parent.mkdir(parents=True)
    (root / FILE).write_text(json.dumps({"messages": messages}))
    (root / "labels.jsonl").write_text("".join(json.dumps({"file": FILE, **label}) + "\n" for label in labels))
    return root


def test_the_right_fix_must_be_named(tmp_path: Path) -> None:
    """A pairing with another call names the wrong fix; a look-alike that is found is wrong."""
    failed = {"tool_use_id": "0"}
    labels: list[dict[str, Any]] = [
        {"id": "L1", "type": "delta", "failed": failed, "fix": {"tool_use_id": "4"}},
        {"id": "L2", "type": "delta", "failed": failed, "fix": {"tool_use_id": "2"}},
        {"id": "L3", "type": "neg_delta", "failed": failed},
        {"id": "L4", "type": "delta", "failed": {"tool_use_id": "2"}, "fix": {"tool_use_id": "4"}},
        {"id": "L5", "type": "correction", "at": {"line": 1}, "durable": True},
    ]
    result = evaluate(folder(tmp_path, labels))

    pairs, fixes, kept, words, _, kept_words, useful = result["rows"][:7]
    assert (pairs["right"], pairs["wrong"], pairs["labelled"], pairs["look_alikes"]) == (2, 1, 3, 1)
    assert (pairs["wrong_labels"], pairs["missed_labels"]) == (["L3"], ["L4"])
    assert (pairs["precision"], pairs["recall"]) == (round(2 / 3, 4), round(2 / 3, 4))
    assert (fixes["right"], fixes["wrong"], fixes["wrong_labels"]) == (1, 1, ["L2"])
    # The gate keeps the one finding: right for L1, the wrong fix for L2, a look-alike for L3.
    assert (kept["right"], kept["wrong"], kept_words["right"]) == (1, 2, 0)
    assert (useful["right"], useful["wrong"], useful["precision"]) == (1, 2, round(1 / 3, 4))
    assert (words["right"], words["recall"], words["precision"]) == (0, 0.0, 1.0)
    assert result["within_budget"] is False
    assert "0.67" in table(result)


def test_each_repository_is_told_alone_and_left_out(tmp_path: Path) -> None:
    """What another repository may bring is told by the spread between those that are known."""
    failed = {"tool_use_id": "0"}
    root = folder(tmp_path, [{"id": "L1", "type": "delta", "failed": failed, "fix": {"tool_use_id": "4"}}])
    other = FILE.replace("a__b", "c__d")
    (root / other).parent.mkdir(parents=True)
    (root / other).write_bytes((root / FILE).read_bytes())
    missed = {"id": "L2", "type": "delta", "failed": {"tool_use_id": "2"}, "fix": {"tool_use_id": "4"}, "file": other}
    with (root / "labels.jsonl").open("a") as labels:
        labels.write(json.dumps(missed) + "\n")

    result = evaluate(root)
    rows = {row["repository"]: row for row in result["by_repository"] if row["what"].endswith("fix")}

    assert {name: (row["recall"], row["rest_recall"]) for name, row in rows.items()} == {
        "a__b": (1.0, 0.0),
        "c__d": (0.0, 1.0),
    }
    assert [row["agent"] for row in result["by_agent"] if row["what"].endswith("fix")] == ["mini-swe-agent"]
    assert max(map(len, table(result).splitlines())) <= 80


def test_trivial_ones_that_the_gate_keeps_are_junk(tmp_path: Path) -> None:
    """What the labels call trivial is right for the detector, and counts against the gate."""
    label = {"id": "L1", "type": "delta", "failed": {"tool_use_id": "0"}, "fix": {"tool_use_id": "4"}}
    rows = {row["what"]: row for row in evaluate(folder(tmp_path, [label | {"trivial": True}]))["rows"]}

    assert rows["failure → fix"]["precision"] == 1.0
    assert rows["kept by the gate, no junk"]["wrong_labels"] == ["L1"]
