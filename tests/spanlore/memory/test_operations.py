"""Operations: the only way memories change."""

import json

import pytest

from spanlore.memory.memory import Kind, Memory, Source, Status
from spanlore.memory.operations import Operation, Verb, operation_from_json, operation_to_json

MEMORY = Memory("m-0", Kind.EXPLICIT, Source.EXPLICIT, Status.ACTIVE, "user", "t")


@pytest.mark.parametrize("verb", Verb)
def test_json_is_an_exact_inverse(verb: Verb) -> None:
    """Every verb comes back from JSON text with its memory, reason and actor."""
    operation = Operation(verb, MEMORY, "because", "user")

    assert operation_from_json(json.loads(json.dumps(operation_to_json(operation)))) == operation


def test_reason_and_actor_may_be_missing() -> None:
    """Whoever does not say who acts is the extractor."""
    operation = operation_from_json(
        {"verb": "added", "memory": operation_to_json(Operation(Verb.ADDED, MEMORY))["memory"]}
    )

    assert operation == Operation(Verb.ADDED, MEMORY, "", "extractor")


@pytest.mark.parametrize(
    "data", [{}, {"verb": "eaten", "memory": {}}, {"verb": "added"}, {"verb": "added", "memory": 3}, []]
)
def test_what_is_no_operation_is_refused(data: object) -> None:
    """Untrusted JSON is a ValueError, never another error."""
    with pytest.raises(ValueError):
        operation_from_json(data)  # type: ignore[arg-type]  # that is the point
