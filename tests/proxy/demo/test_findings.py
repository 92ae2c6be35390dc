from hypothesis import given
from hypothesis import strategies as st

from spanlore_proxy.capture.wire_log import LoggedInsertion
from spanlore_proxy.demo.findings import Check, Findings, without_insertions


@given(st.text(max_size=60), st.lists(st.tuples(st.integers(0, 40), st.text(min_size=1, max_size=9)), max_size=4))
def test_insertions_are_taken_out_again(text: str, places: list[tuple[int, str]]) -> None:
    """Whatever was put in at offsets of the client's body, taking it out gives that body."""
    client = text.encode("utf-8", "replace")
    insertions = [LoggedInsertion(min(offset, len(client)), data) for offset, data in places]
    ordered = sorted(insertions, key=lambda item: item.offset)
    out, position = b"", 0
    for item in ordered:
        out += client[position : item.offset] + item.data.encode()
        position = item.offset
    forwarded = out + client[position:]

    assert without_insertions(forwarded, insertions) == client


def test_wrong_place_is_noticed() -> None:
    """An insertion that is not where it is said to be gives nothing, and so no equal hash."""
    assert without_insertions(b"abc", [LoggedInsertion(1, "x")]) == b""


def test_one_untrue_check_spoils_it() -> None:
    """All claims have to be true."""
    good, bad = Check("a", True), Check("b", False)

    assert Findings(0, (), (), (), (), (good,)).is_good
    assert not Findings(0, (), (), (), (), (good, bad)).is_good
