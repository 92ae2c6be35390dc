import orjson

from spanlore_extractor.judge.rehearsal import REHEARSAL


def test_it_proves_itself() -> None:
    """A failure and what worked, both to be cited."""
    data = orjson.loads(REHEARSAL.text)
    assert [item["outcome"] for item in data["evidence"]] == ["failure", "success"]
    assert {item["span_id"] for item in data["evidence"]} == REHEARSAL.spans
