import pytest
from pydantic import ValidationError

from spanlore_collector.store.ledger import InternalCall, InternalCalls


def test_a_call_is_checked() -> None:
    """Counts are not negative, unknown fields are refused, a price may be unknown."""
    assert InternalCall(phase="judge", outcome="keep").cost_usd is None
    for wrong in ({"input_tokens": -1}, {"input_tokens": 2**32}, {"planet": 1}, {"outcome": "x" * 401}):
        with pytest.raises(ValidationError):
            InternalCalls.model_validate({"calls": [{"phase": "judge", "outcome": "keep", **wrong}]})
