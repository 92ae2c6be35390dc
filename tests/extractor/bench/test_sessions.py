from collections import Counter

from spanlore.semconv import lore
from spanlore_extractor.bench.sessions import SPANS_PER_SESSION, session_spans


def test_a_session_has_the_shape_of_one() -> None:
    """Four turns, six exchanges each, a tool in each; three failures; no span twice."""
    spans = session_spans(7)
    kinds = Counter(span.name.split()[0] for span in spans)
    outcomes = Counter(span.attributes[lore.OUTCOME] for span in spans if lore.OUTCOME in span.attributes)

    assert len(spans) == len({span.span_id for span in spans}) == SPANS_PER_SESSION
    assert kinds == {"chat": 24, "execute_tool": 24, "invoke_agent": 4}
    assert outcomes == {"success": 21, "failure": 3}


def test_the_same_number_is_the_same_session() -> None:
    """And another number another one, with lessons that come back."""
    assert session_spans(3) == session_spans(3)
    assert {one.span_id for one in session_spans(1)}.isdisjoint(one.span_id for one in session_spans(2))
    commands = Counter(span.attributes.get(lore.COMMAND) for number in range(200) for span in session_spans(number))
    assert max(count for command, count in commands.items() if command and str(command).startswith("rtk")) > 1
