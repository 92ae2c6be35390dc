"""What spanlore costs, in three ledgers that are never summed, beside what the agents cost themselves.

- **exposed**: tokens that memories added to agents' requests, each request counted, since each carries them. Their
  money is their share of what the request's input cost, so a part that the provider's cache served is priced as such.
- **internal**: tokens of spanlore's own model calls (the judge): inferences whose harness is `spanlore`.
- **cache delta**: tokens that a provider would have read from its cache and did not, in a request whose prefix the
  proxy changed (the alarm `prefix_changed`). Expected were the tokens that the conversation's request before had read
  or written. Their money is what they cost more than a cache read. 0 is what it should be.

The sum would mean nothing: exposed tokens are the price of an effect, internal ones are an investment, and a cache
delta is a fault. Money is None where no price is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from spanlore_collector.store.views import RowSource

INTERNAL: Final = "spanlore"
"""Harness of spanlore's own calls."""
BY: Final[Mapping[str, str]] = {
    "day": "toString(toDate(start_time))",
    "repository": "repository",
    "agent": "harness",
    "model": "request_model",
    "session": "session_id",
}
"""What a ledger can be split by → its SQL."""
CACHE_READ_SHARE: Final = 0.1
"""A cache read costs a tenth of an input token with Anthropic, and no more with the others."""
_BYTES_PER_TOKEN: Final = 4


@dataclass(frozen=True, slots=True)
class CostRow:
    """One line of the ledgers."""

    key: str
    requests: int
    tokens: int
    """Of the agents' own: input and output."""
    usd: float | None
    exposed_requests: int
    exposed_tokens: int
    exposed_usd: float | None
    internal_requests: int
    internal_tokens: int
    internal_usd: float | None
    cache_delta_tokens: int
    cache_delta_usd: float | None
    unpriced_requests: int
    """Requests whose price is not known; they are in none of the sums of money."""


_LEDGERS: Final = """
WITH
    calls AS
    (
        SELECT
            KEY AS key, session_id, conversation, start_time, span_id, harness = {internal:String} AS is_internal,
            ifNull(input_tokens, 0) + ifNull(output_tokens, 0) AS used_tokens,
            toFloat64(cost_usd) AS call_usd,
            intDiv(injected_bytes + {bytes:UInt32} - 1, {bytes:UInt32}) AS added_tokens,
            if(ifNull(input_tokens, 0) > 0, toFloat64(cost_input_usd) / input_tokens, NULL) AS usd_a_token,
            toInt64(ifNull(cache_read_tokens, 0)) AS read_tokens,
            read_tokens + ifNull(cache_write_tokens, 0) AS in_cache,
            position(injected_placements, '"prefix_changed"') > 0 AS is_alarm
        FROM inferences FINAL
        WHERE start_time >= fromUnixTimestamp64Nano({since:Int64})
    ),
    priced AS
    (
        SELECT *, 0 AS lost_tokens FROM calls WHERE NOT is_alarm
        UNION ALL
        SELECT * FROM
        (
            SELECT *, greatest(0, lagInFrame(in_cache, 1, 0) OVER conversations - read_tokens) AS lost_tokens
            FROM calls
            WHERE session_id IN
            (
                SELECT session_id FROM inferences
                WHERE start_time >= fromUnixTimestamp64Nano({since:Int64})
                AND position(injected_placements, '"prefix_changed"') > 0
            )
            WINDOW conversations AS
            (
                PARTITION BY session_id, conversation ORDER BY start_time, span_id
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            )
        )
        WHERE is_alarm
    )
SELECT
    key,
    countIf(NOT is_internal) AS requests,
    sumIf(used_tokens, NOT is_internal) AS tokens,
    sumIf(call_usd, NOT is_internal) AS usd,
    countIf(added_tokens > 0) AS exposed_requests,
    sum(added_tokens) AS exposed_tokens,
    sumIf(added_tokens * usd_a_token, added_tokens > 0) AS exposed_usd,
    countIf(is_internal) AS internal_requests,
    sumIf(used_tokens, is_internal) AS internal_tokens,
    sumIf(call_usd, is_internal) AS internal_usd,
    sumIf(lost_tokens, is_alarm) AS cache_delta_tokens,
    sumIf(lost_tokens * usd_a_token * (1 - {cache_read:Float64}), is_alarm) AS cache_delta_usd,
    countIf(isNull(call_usd)) AS unpriced_requests
FROM priced
GROUP BY key
ORDER BY key DESC
LIMIT {limit:UInt32}
"""
"""Only sessions with an alarm, of which there should be none, have their calls put in order."""


def read_costs(reader: RowSource, by: str, since_ns: int, limit: int = 1000) -> list[CostRow]:
    """The ledgers since a time, split by one of `BY`, at most `limit` lines.

    Raises:
        KeyError: `by` is none of them.
    """
    parameters = {
        "since": since_ns,
        "internal": INTERNAL,
        "bytes": _BYTES_PER_TOKEN,
        "cache_read": CACHE_READ_SHARE,
        "limit": limit,
    }
    return [_row(found) for found in reader.rows(_LEDGERS.replace("KEY AS", f"{BY[by]} AS", 1), parameters)]


def _row(found: Mapping[str, Any]) -> CostRow:
    names = CostRow.__dataclass_fields__
    values: dict[str, Any] = {name: int(found[name] or 0) for name in names if name.endswith(("requests", "tokens"))}
    values |= {name: _usd(found[name]) for name in names if name.endswith("usd")}
    return CostRow(key=str(found["key"]), **values)


def _usd(value: Any) -> float | None:
    return None if value is None else round(float(value), 9)
