"""JSON as clients write it: generated values, and the spellings seen on the wire."""

from __future__ import annotations

import json
from typing import Any, Final

import orjson
from hypothesis import strategies as st

TEXT: Final = st.text(st.characters(codec="utf-8"), max_size=12)
JSON: Final = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
PLACES: Final = frozenset(
    ["system", "messages", "input", "instructions", "contents", "systemInstruction", "system_instruction", "request"]
)
"""Members of the APIs' bodies that hold the conversation."""
STYLES: Final = st.sampled_from(["compact", "python", "pretty"])


def spell(document: dict[str, Any], style: str) -> bytes:
    """The document as some client writes it."""
    match style:
        case "compact":
            return orjson.dumps(document)
        case "python":
            return json.dumps(document).encode()
        case "pretty":
            return json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n"
    raise AssertionError(style)


@st.composite
def shuffled(draw: st.DrawFn, members: dict[str, Any]) -> dict[str, Any]:
    """The members and some more, in any order. None of those that say where things stand: Hypothesis also draws words
    from the code under test, and a stray `request` would make another body of it."""
    more = draw(st.dictionaries(TEXT, JSON, max_size=3))
    whole = {**{key: value for key, value in more.items() if key not in {*members, *PLACES}}, **members}
    return {key: whole[key] for key in draw(st.permutations(list(whole)))}
