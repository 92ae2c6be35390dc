"""All dashboards, in the order in which Grafana lists them."""

from __future__ import annotations

from typing import Final

from spanlore_dashboards.grafana.board import Board
from spanlore_dashboards.grafana.boards import cost, health, memories, session, sessions, tools

BOARDS: Final[tuple[Board, ...]] = (
    sessions.BOARD,
    session.BOARD,
    cost.BOARD,
    tools.BOARD,
    memories.BOARD,
    health.BOARD,
)
