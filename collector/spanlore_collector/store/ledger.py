"""Our own model calls and what they cost: written by the one writer, read by SQL (`internal_calls`, `token_ledger`)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from clickhouse_connect.driver.client import Client
from pydantic import BaseModel, ConfigDict, Field

MAX_ROWS: Final = 2000


class InternalCall(BaseModel):
    """One call, or one that was not made."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    phase: str = Field(max_length=40)
    session_id: str = Field(default="", max_length=200)
    memory_id: str = Field(default="", max_length=80)
    model: str = Field(default="", max_length=200)
    outcome: str = Field(max_length=400)
    input_tokens: int = Field(default=0, ge=0, lt=2**32)
    output_tokens: int = Field(default=0, ge=0, lt=2**32)
    cache_read_tokens: int = Field(default=0, ge=0, lt=2**32)
    cache_write_tokens: int = Field(default=0, ge=0, lt=2**32)
    cost_usd: float | None = Field(default=None, ge=0)


class InternalCalls(BaseModel):
    """What the API takes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    calls: list[InternalCall] = Field(max_length=MAX_ROWS)


def insert_calls(client: Client, calls: Sequence[InternalCall]) -> int:
    """Appends them with the time of now; returns how many."""
    now_ms = time.time_ns() // 1_000_000
    rows = [[now_ms, *call.model_dump().values()] for call in calls]
    if rows:
        client.insert("internal_calls", rows, column_names=["time", *InternalCall.model_fields])
    return len(rows)
