"""What pages share."""

import pytest
from aiohttp import web

from spanlore_dashboards.web.session_list import SessionFilter
from spanlore_dashboards.web.site import Site, asked


def test_empty_fields_of_a_form_are_left_out() -> None:
    """A form sends all its fields; what is empty was not chosen."""
    assert asked(SessionFilter, {"q": "", "days": "", "agent": "pi"}) == SessionFilter(agent="pi")


@pytest.mark.parametrize("query", [{"page": "0"}, {"days": "x"}, {"colour": "red"}])
def test_what_makes_no_sense_is_told(query: dict[str, str]) -> None:
    """400, with the field's name."""
    with pytest.raises(web.HTTPBadRequest) as caught:
        asked(SessionFilter, query)

    assert next(iter(query)) in (caught.value.text or "")


def test_addresses_of_sessions() -> None:
    """Ids are what clients send; none of them leaves the path."""
    assert Site.session_path("a/b?c") == "/sessions/a%2Fb%3Fc"
