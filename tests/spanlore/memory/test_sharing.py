from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from spanlore.memory.memory import USER_SCOPE, Kind, Memory, Source, Status
from spanlore.memory.sharing import MAX_FORKS, Sharing, sharing_from_json, sharing_to_json

PRIVATE, PUBLIC, OTHER = "github.com/firm/app", "github.com/me/open", "github.com/me/other"
MEMORY = Memory("m-1", Kind.CORRECTION, Source.CORRECTION, Status.ACTIVE, PRIVATE, "text")


def test_a_fork_reads_its_upstream() -> None:
    """Its own first, the user's last; the upstream does not read the fork."""
    sharing = Sharing({"h/me/x": "h/them/x", "h/them/x": "h/first/x"})

    assert sharing.scopes("h/me/x") == ("h/me/x", "h/them/x", "h/first/x", USER_SCOPE)
    assert sharing.scopes("h/first/x") == ("h/first/x", USER_SCOPE)
    assert sharing.scopes(USER_SCOPE) == (USER_SCOPE,)


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from("abcdefgh")), st.sampled_from("abcdefgh"))
def test_forks_in_a_circle_end(forks: dict[str, str], start: str) -> None:
    """Whatever the checkouts claim, each scope is read once."""
    scopes = Sharing(forks).scopes(start)
    assert len(set(scopes)) == len(scopes) <= MAX_FORKS + 2


def test_private_memories_stay_private() -> None:
    """Not in a public fork, and not by way of the user's own memories."""
    sharing = Sharing({PUBLIC: PRIVATE}, ("github.com/me/*",))
    shared = replace(MEMORY, scope=USER_SCOPE, origins=(PRIVATE, OTHER))

    assert sharing.lets(MEMORY, PRIVATE)
    assert not sharing.lets(MEMORY, PUBLIC)
    assert not sharing.lets(shared, PUBLIC)
    assert sharing.lets(shared, "github.com/firm/second")
    assert sharing.lets(replace(shared, origins=(PUBLIC, OTHER)), PUBLIC)
    assert sharing.lets(replace(shared, origins=()), PUBLIC), "what the user stated for everywhere"


def test_json_and_back() -> None:
    """What the collector sends is what the proxy reads; anything else is no sharing."""
    sharing = Sharing({"a": "b"}, ("c*",))
    assert sharing_from_json(sharing_to_json(sharing)) == sharing
    assert sharing_from_json([]) == sharing_from_json({"forks": 3, "public": "x"}) == Sharing()
