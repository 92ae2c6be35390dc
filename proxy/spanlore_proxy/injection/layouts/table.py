"""The one place in injection that knows dialects by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from spanlore.genai.inference import Dialect
from spanlore_proxy.injection.layouts.anthropic import ANTHROPIC
from spanlore_proxy.injection.layouts.gemini import GEMINI
from spanlore_proxy.injection.layouts.layout import Layout
from spanlore_proxy.injection.layouts.openai_chat import OPENAI_CHAT
from spanlore_proxy.injection.layouts.openai_responses import OPENAI_RESPONSES

LAYOUTS: Final[Mapping[Dialect, Layout]] = {
    Dialect.ANTHROPIC_MESSAGES: ANTHROPIC,
    Dialect.OPENAI_CHAT: OPENAI_CHAT,
    Dialect.OPENAI_RESPONSES: OPENAI_RESPONSES,
    Dialect.GEMINI: GEMINI,
}
"""A dialect that is not here is captured and never rewritten."""
