"""The judge as the settings want it, if they want one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from spanlore.redaction.redact import Redactor
from spanlore.settings import Paths, Settings
from spanlore_extractor.judge.instructions import prompt, prompts
from spanlore_extractor.judge.judging import Judge
from spanlore_extractor.judge.spending import Caps


def caps_of(settings: Settings) -> Caps:
    """What may be spent."""
    told = settings.judge
    return Caps(told.max_tokens_per_day, told.max_tokens_per_session, told.max_usd_per_day, told.max_usd_per_session)


@contextmanager
def judge_of(settings: Settings, paths: Paths, now_ns: int) -> Iterator[Judge | None]:
    """The judge for one run; None without a key.

    Raises:
        PromptError: the user's own prompt can't be used.
    """
    told = settings.judge
    if not told.api_key:
        yield None
        return
    from spanlore.spans.price import use_own_prices  # here, since the two bring price data and the SDK
    from spanlore_extractor.judge.asking import Model

    use_own_prices(settings.prices)  # what may be spent is counted as the user's other costs are
    found = prompts("judge", paths.prompts_dir)
    chapter = prompt("chapter", paths.prompts_dir)
    model = Model(told.api_key, told.base_url, told.model, told.timeout_s)
    try:
        yield Judge(model, found, caps_of(settings), Redactor(settings.capture.redact), now_ns, chapter)
    finally:
        model.close()
