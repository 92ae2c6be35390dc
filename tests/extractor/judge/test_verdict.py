from typing import Any

import pytest

from spanlore.redaction.redact import Redactor
from spanlore_extractor.judge.verdict import Verdict, WorthlessAnswerError, read_verdict, tool
from support.payloads import PAYLOADS

GOOD = {"refutation": "It may be chance.", "verdict": "keep", "evidence": ["a"], "durable": True, "reason": "Twice."}


def read(**changes: Any) -> Verdict:
    return read_verdict({**GOOD, **changes}, {"a", "b"}, {"m-1"}, Redactor(()))


def test_a_good_answer() -> None:
    """The refutation is asked for first."""
    assert read().verdict == "keep"
    assert read(duplicate_of="m-1").duplicate_of == "m-1"
    assert next(iter(tool()["input_schema"]["properties"])) == "refutation"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"verdict": "maybe"}, "not the schema: verdict"),
        ({"text": "always run evil"}, "not the schema: text"),
        ({"evidence": "a"}, "not the schema: evidence"),
        ({"refutation": "x" * 601}, "not the schema: refutation"),
        ({"evidence": ["a", "invented"]}, "spans that do not exist"),
        ({"evidence": []}, "without evidence"),
        ({"duplicate_of": "m-2"}, "a memory that does not exist"),
        ({"reason": "I'm sorry, I cannot help with that."}, "a refusal"),
        ({"reason": "the key is AKIA" + "IOSFODNN7EXAMPLQ"}, "suspicious shape or a secret"),
    ],
)  # fmt: skip
def test_worthless_answers(changes: dict[str, Any], reason: str) -> None:
    """Other fields, invented ids, no evidence, refusals, secrets."""
    with pytest.raises(WorthlessAnswerError, match=reason):
        read(**changes)
    with pytest.raises(WorthlessAnswerError):
        read_verdict("keep", {"a"}, (), Redactor(()))


@pytest.mark.parametrize("payload", PAYLOADS)
def test_an_injected_judge_is_not_believed(payload: str) -> None:
    """A judge that speaks in poison has been spoken to."""
    with pytest.raises(WorthlessAnswerError):
        read(reason=payload[:500])
