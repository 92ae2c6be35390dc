"""Words as code is written."""

import pytest

from spanlore.recall import terms as terms_module
from spanlore.recall.terms import distinct_terms, is_name, terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tests/unit/test_app.py", {"tests/unit/test_app.py", "test", "unit", "app", "py"}),
        ("loadSettings()", {"loadsettings", "load", "setting"}),
        ("HTTPServer", {"httpserver", "http", "server"}),
        ("--no-cache", {"--no-cache", "cache"}),
        ("the shop.cart module.", {"shop.cart", "shop", "cart", "module"}),
        ("please run it for the user", {"user"}),
        ("docker\u3000compose", {"docker", "compose"}),
        ("", set()),
    ],
)
def test_a_name_gives_itself_and_its_parts(text: str, expected: set[str]) -> None:
    """Paths, flags, dotted and camel-cased names are found whole and in part; stop words are not."""
    assert set(terms(text)) == expected


def test_repeated_words_are_repeated() -> None:
    """BM25 counts them."""
    assert terms("cart cart").count("cart") == 2
    assert distinct_terms("cart cart my/cart") == ["cart", "my/cart"]


@pytest.mark.parametrize(("term", "expected"), [("src/app", True), ("--fast", True), ("app", False), ("a-b", False)])
def test_what_is_a_name(term: str, expected: bool) -> None:
    """Joined, and long enough to mean something."""
    assert is_name(term) is expected


def test_long_pieces_are_not_kept() -> None:
    """JSON without white space has its terms like any text, and costs no memory for the life of the process."""
    kept = terms_module._known_terms.cache_info().currsize
    piece = '{"alpha_beta":"' + "gamma-delta," * 1000 + '"}'

    assert set(terms(piece)) >= {"alpha_beta", "gamma-delta"}
    assert terms_module._known_terms.cache_info().currsize == kept
