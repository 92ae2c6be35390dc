"""What stands between a dashboard's query and the store: Grafana's variables and the datasource's macros.

As grafana-clickhouse-datasource 4.x does it: variables and `$__conditionalAll` in the browser, the other macros in its
backend. Only what the dashboards use; anything else that is left is an error. For tests and for the bench: everywhere
else Grafana itself does this.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

ALL: Final = "$__all"


@dataclass(frozen=True, slots=True)
class Looking:
    """The time range and the choices of whoever looks at a dashboard."""

    from_s: int
    to_s: int
    interval_s: int = 60
    choices: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    """Variable → what was chosen; several, all (`$__all`), or a text."""


def expanded(sql: str, looking: Looking) -> str:
    """The query as it reaches the store.

    Raises:
        ValueError: a macro or a variable that is not known.
    """
    text = _conditional(sql, looking)
    text = re.sub(r"\$\{(\w+)(?::(\w+))?\}", lambda found: _value(found[1], found[2] or "", looking), text)
    for name, write in _MACROS.items():
        text = re.sub(rf"\$__{name}\(([^()]*)\)", partial(_written, write, looking), text)
    left = re.search(r"\$(__)?\w+", text)
    if left:
        raise ValueError(f"{left[0]} is not known")
    return text


def _written(write: Callable[[str, Looking], str], looking: Looking, found: re.Match[str]) -> str:
    return write(found[1].strip(), looking)


def _conditional(sql: str, looking: Looking) -> str:
    """`$__conditionalAll(condition, $variable)`: 1=1 when everything is chosen."""
    marker = "$__conditionalAll("
    while marker in sql:
        start = sql.index(marker)
        end, depth = start + len(marker), 1
        while depth:
            depth += {"(": 1, ")": -1}.get(sql[end], 0)
            end += 1
        condition, _, variable = sql[start + len(marker) : end - 1].rpartition(",")
        chosen = looking.choices.get(variable.strip().removeprefix("$"), ALL)
        is_all = chosen in (ALL, (ALL,))
        sql = sql[:start] + ("1=1" if is_all else condition.strip()) + sql[end:]
    return sql


def _value(name: str, style: str, looking: Looking) -> str:
    if name not in looking.choices:
        raise ValueError(f"nothing was chosen for {name}")
    chosen = looking.choices[name]
    values = (chosen,) if isinstance(chosen, str) else chosen
    if style == "singlequote":
        return ",".join("'{}'".format(value.replace("'", "\\'")) for value in values)
    return values[0] if len(values) == 1 else "{" + ",".join(values) + "}"


_MACROS: Final[dict[str, Callable[[str, Looking], str]]] = {
    "timeFilter": lambda column, at: f"{column} >= toDateTime({at.from_s}) AND {column} <= toDateTime({at.to_s})",
    "timeInterval": lambda column, at: f"toStartOfInterval(toDateTime({column}), INTERVAL {at.interval_s} second)",
}
