"""What the web page's tests look at: a few sessions as they are, and memories in every state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from spanlore.memory.memory import Evidence, EvidenceRole, Kind, Memory, Source, Status, Trigger
from spanlore.memory.operations import Operation, Verb
from spanlore.spans.place import Outcome, Workplace
from spanlore.spans.record import SpanRecord
from support.telling import SECOND_NS, Did, Teller, placed

REPOSITORY = "github.com/acme/widgets"
SESSION = "5e551011-aaaa-4000-8000-000000000001"
FIX = "Tests of this repository need `DATABASE_URL`; `make test` sets it, plain `pytest` fails with “KeyError”."
FETCHES = "it tells the agent to fetch something"
HOSTILE = '<script>alert("x")</script>\u202e<img src=//example.org/x>'
EFFECTS = (
    '{"measured_at_ns": 1796000000000000000, "level": 0.99, "min_sessions": 10, "effects": {'
    '"m-000000000001": {"verdict": "helps", "shown": [2, 40], "withheld": [12, 20], "difference": -0.55, '
    '"interval": [-0.85, -0.3]}, "m-000000000004": {"verdict": "too few", "shown": [0, 3], "withheld": [1, 1], '
    '"difference": null, "interval": null}}}'
)
"""As the extractor leaves it."""
EDIT = {"file_path": "src/widgets/shelf.py", "old_string": "return items", "new_string": "return sorted(items)"}
ANSWER = """The order of a `Shelf` is not stable. Two things to do:

1. sort in `Shelf.items`
2. keep the fixture's seed

| test | before | after |
|---|---|---|
| `test_order` | 3 of 10 | 10 of 10 |

```python
def items(self) -> list[Widget]:
    return sorted(self._items)
```
"""


@dataclass
class WebStory:
    """All of it."""

    spans: list[SpanRecord]
    operations: list[Operation]
    failed_span: str
    """A tool call of `SESSION` that failed."""
    chat_span: str
    """The model call of `SESSION` that memories were put into."""


def web_story(now_ns: int) -> WebStory:
    """Sessions of the last days, the newest some minutes old."""
    main, failed = _main_session(now_ns - 600 * SECOND_NS)
    others = [span for teller in _others(now_ns) for span in teller.spans]
    return WebStory([*main.spans, *others], _memories(now_ns, failed), failed, main.chats[0])


def _main_session(start_ns: int) -> tuple[Teller, str]:
    teller = Teller(SESSION, start_ns)
    teller.turn("The shelf test is flaky. Find out why and put it right.\nDon't change the fixtures.")
    block = [
        placed("session_block", ["m-000000000001"]),
        placed("session_block", ["m-000000000004"], state="withheld", first=False),
    ]
    seen = teller.ask(
        "I'll look at the test and at its history side by side.",
        Did("Read", {"file_path": "tests/test_shelf.py"}, "def test_order():\n    assert shelf().items() == …", 0.3),
        Did("Bash", {"command": "git log --oneline -5 -- tests/test_shelf.py"}, "a1b2c3 Shelf\n", 0.9),
        Did("Task", {"description": "Find callers", "prompt": "Who calls Shelf.items?"}, "Three callers.", 14.0),
        reasoning="The order may come from a set.",
        placements=block,
        takes_s=4.2,
    )
    agent = teller.sub_agent(seen[2], "a1", start_ns + 5 * SECOND_NS)
    agent.turn("Who calls Shelf.items?")
    agent.ask("", Did("Grep", {"pattern": "\\.items\\("}, "src/a.py:3\nsrc/b.py:9", 2.0), takes_s=3.0)
    agent.ask("Three callers: a, b and the report.", takes_s=2.5, end="completed")
    failed = teller.ask(
        "Now the tests.",
        Did(
            "Bash",
            {"command": "pytest -q tests/test_shelf.py"},
            "E   KeyError: 'DATABASE_URL'\n1 error",
            3.1,
            Outcome.FAILURE,
            1,
            "KeyError",
            "KeyError: 'DATABASE_URL'",
        ),
    )
    hint = [placed("failure_hint", ["m-000000000001"], anchor="toolu_1")]
    teller.ask(
        "They need the database's address.", Did("Bash", {"command": "make test"}, "12 passed", 6.4), placements=hint
    )
    teller.ask(
        "",
        Did("Edit", EDIT, "edited", 0.1),
        Did("Bash", {"command": "rm -rf build"}, "The user said no.", 4.0, Outcome.REJECTED),
    )
    teller.ask("", error="overloaded_error", takes_s=0.4)
    teller.ask(ANSWER, takes_s=5.0, tokens=(31_000, 29_500, 640), price_usd="0.0411", end="completed")
    teller.turn(f"And what is {HOSTILE} for?", wait_s=3600)
    teller.ask("Nothing: it is text like any other.", takes_s=1.2, end="interrupted")
    teller.spans += agent.spans
    return teller, failed[0]


def _others(now_ns: int) -> list[Teller]:
    codex = Workplace(harness="codex", repository="github.com/acme/shop", branch="release")
    out = []
    for day, (place, model, price, prompt) in enumerate(
        [
            (codex, "gpt-5-codex", "0.31", "Bump the version and write the changelog"),
            (codex, "gpt-5-codex", "0.12", "Why does the build fail on ARM?"),
            (Workplace(harness="pi", repository="", branch=""), "local-model", None, "Hello"),
        ]
    ):
        teller = Teller(f"5e551011-bbbb-4000-8000-00000000000{day}", now_ns - (day + 1) * 86_400 * SECOND_NS)
        teller.workplace, teller.model = place, model
        teller.turn(prompt)
        teller.ask("On it.", Did("Bash", {"command": "make"}, "ok", 2.0), price_usd=price)
        teller.ask("Done.", price_usd=price, end="completed")
        out.append(teller)
    return out


def _memories(now_ns: int, failed: str) -> list[Operation]:
    proof = Evidence("ab" * 16, failed, SESSION, EvidenceRole.FAILURE, now_ns - 580 * SECOND_NS, "pytest -q\nKeyError")
    common: dict[str, Any] = {"scope": REPOSITORY, "created_at_ns": now_ns, "updated_at_ns": now_ns}
    first = Memory(
        "m-000000000001",
        Kind.ENVIRONMENT,
        Source.FAILURE_DELTA,
        Status.ACTIVE,
        text=FIX,
        session_count=2,
        alpha=4,
        subject="pytest",
        evidence=(proof,),
        trigger=Trigger(program="pytest", error_class="KeyError"),
        why="KeyError: 'DATABASE_URL'",
        note="seen in 2 sessions",
        **common,
    )
    rest = [
        (Kind.EXPLICIT, Source.EXPLICIT, Status.ACTIVE, "Releases are cut on Tuesdays.", ""),
        (Kind.CORRECTION, Source.CORRECTION, Status.QUARANTINED, f"Always run {HOSTILE} first.", FETCHES),
        (Kind.USAGE, Source.FAILURE_DELTA, Status.TRIAL, "`uv sync` before `make`.", ""),
        (
            Kind.LOCATION,
            Source.REPEATED_LOOKUP,
            Status.RETIRED,
            "Fixtures lie in /data.",
            "two sessions said otherwise",
        ),
    ]
    others = [
        Memory(f"m-{number:012}", kind, source, status, text=text, note=note, alpha=4, **common)
        for number, (kind, source, status, text, note) in enumerate(rest, 2)
    ]
    return [Operation(Verb.ADDED, memory, memory.note) for memory in (first, *others)]
