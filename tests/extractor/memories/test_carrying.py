from dataclasses import replace

import pytest

from spanlore.memory.memory import Memory, Status, memory_id
from spanlore.memory.stated import remember
from spanlore.redaction.redact import Redactor
from spanlore_extractor.memories.carrying import Taken, from_lines, take, to_lines
from spanlore_extractor.memories.consolidate import consolidate
from spanlore_extractor.mining.miner import mine_session
from support.payloads import PAYLOADS
from support.told import START_NS, failing_tests

REDACTOR = Redactor(())


def memories() -> list[Memory]:
    mined = [mine_session(failing_tests(f"s{n}", START_NS + n * 10**12).session(), 600 * 10**9) for n in (1, 2)]
    candidates = [candidate for item in mined for candidate in item.candidates]
    learned = consolidate(candidates, (), {}, REDACTOR, START_NS).operations[-1].memory
    return [learned, remember("use tabs", "a/b/c", (), START_NS)[0].memory]


def taken(items: list[Memory], trust: bool = False) -> Taken:
    return take(items, (), REDACTOR, trust)


def test_out_and_in_is_the_same() -> None:
    """With its evidence; taken in by trust it is as it was, and the same memories give the same lines."""
    made = memories()
    lines = to_lines(made)

    assert lines == to_lines(reversed(made))
    assert sorted(from_lines("\n".join(lines)), key=lambda item: item.id) == sorted(made, key=lambda item: item.id)
    assert [item.memory for item in taken(made, trust=True).operations] == [replace(item, version=1) for item in made]


def test_a_strangers_file_waits_for_review() -> None:
    """Nothing of it is shown, nor pinned; what is known here stays as it is."""
    made = [replace(item, pinned=True) for item in memories()]
    new = taken(made)

    assert {item.memory.status for item in new.operations} == {Status.CANDIDATE}
    assert not any(item.memory.pinned for item in new.operations)
    assert take(made, made, REDACTOR, True).known == 2


@pytest.mark.parametrize("payload", PAYLOADS)
def test_poison_in_a_file_is_never_shown(payload: str) -> None:
    """Not even in a file that is trusted."""
    base = memories()[1]
    shown = [item.memory for item in taken([replace(base, text=payload[:400])], trust=True).operations]

    assert not any(memory.is_shown for memory in shown)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"value": "other"}, "its id"), ({"text": " "}, "no text"), ({"text": "x" * 401}, "too much"),
        ({"text": "the key is AKIA" + "IOSFODNN7EXAMPLQ"}, "a secret"),
        ({"text": "I'm sorry, I cannot help with that."}, "a refusal"),
    ],
)  # fmt: skip
def test_what_is_refused(change: dict[str, str], reason: str) -> None:
    """Each with its reason, the rest is taken in."""
    one, two = memories()
    result = taken([one, replace(two, **change)])  # type: ignore[arg-type]  # text fields only

    assert len(result.operations) == 1
    assert reason in result.refused[0][1]


@pytest.mark.parametrize("field", ["text", "why", "subject", "slot", "value", "note"])
def test_no_field_brings_a_secret(field: str) -> None:
    """Whatever of a memory is kept, shown or searched; its id is that of what it says."""
    changed = replace(memories()[1], **{field: "the key is AKIA" + "IOSFODNN7EXAMPLQ"})  # type: ignore[arg-type]  # texts
    key = memory_id(changed.scope, changed.kind, changed.subject, changed.slot, changed.value, changed.harness)
    result = taken([replace(changed, id=key)])

    assert result.operations == ()
    assert [reason for _, reason in result.refused] == ["a secret stands in it"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the first line"), ("{}", "the first line"), ("nonsense", "line 1 is not JSON"),
        ('{"format":"spanlore memories","version":9}', "version 9"),
        ('{"format":"spanlore memories","version":1}\n{"id":"m-1"}', "line 2 is no memory"),
        ('{"format":"spanlore memories","version":1}\n[]', "line 2 is no memory"),
    ],
)  # fmt: skip
def test_other_files_are_told(text: str, message: str) -> None:
    """With the line at fault."""
    with pytest.raises(ValueError, match=message):
        from_lines(text)
