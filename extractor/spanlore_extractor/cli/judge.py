"""`spanlore judge`: whether a model is asked, what it has cost, and whom it is not asked about any more."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spanlore import completion
from spanlore.ending import USAGE, WRONG, fail
from spanlore.main import group
from spanlore.terminal import tell, write
from spanlore_extractor.cli.daemon import Json, daemon, print_json

if TYPE_CHECKING:
    from spanlore_extractor.judge.answer import Answer
    from spanlore_extractor.judge.judging import Judge

_PHASES = """
SELECT phase, countIf(input_tokens > 0) AS calls, sum(input_tokens + output_tokens) AS tokens,
       sum(ifNull(cost_usd, 0)) AS usd
FROM internal_calls WHERE internal_calls.time >= today() - 6 GROUP BY phase ORDER BY phase
"""
_LEDGER = """
SELECT toString(day) AS day, exposed_tokens, internal_tokens, internal_cache_read_tokens, internal_usd, internal_calls
FROM token_ledger WHERE token_ledger.day >= today() - 6 ORDER BY day DESC
"""
_LAST = """
SELECT toString(internal_calls.time) AS at, phase, memory_id, outcome, input_tokens, output_tokens, cost_usd
FROM internal_calls ORDER BY internal_calls.time DESC, memory_id LIMIT 10
"""


def register(app: typer.Typer) -> None:
    """Adds the sub-commands."""
    judge = group(app, "judge", "The model that may look at candidates, and what it costs. Off without a key.")
    judge.command("status", help="Settings, what was spent and what is left, the poison list.")(status)
    judge.command("test", help="Ask the model one small question, live: key, address, model, price.")(test)
    judge.command("reset", help="Take lessons off the poison list and end a pause; spending stays counted.")(reset)
    judge.command("prompt", help="Print the prompt in force; your own files replace it, or add to it for an agent.")(
        prompt
    )


def status(as_json: Json = False) -> None:
    """What the judge is, what it spent today and may still spend, and what the last calls said."""
    import time

    from spanlore.settings import load_settings
    from spanlore_extractor.judge.spending import Spending
    from spanlore_extractor.run import JUDGE_KEY

    told = load_settings().judge
    in_force = _prompts_told()
    with daemon() as (reader, client):
        now_ns = time.time_ns()
        spending = Spending.from_json(client.mining_state(JUDGE_KEY)).on(now_ns)
        ledger, last, phases = reader.rows(_LEDGER), reader.rows(_LAST), reader.rows(_PHASES)
    data: dict[str, Any] = {
        "on": bool(told.api_key),
        "model": told.model,
        "base_url": told.base_url,
        "prompts": in_force,
        "today": {"tokens": int(spending.tokens), "usd": spending.usd, "calls": spending.calls},
        "caps": {
            "tokens_per_day": told.max_tokens_per_day,
            "tokens_per_session": told.max_tokens_per_session,
            "usd_per_day": told.max_usd_per_day,
            "usd_per_session": told.max_usd_per_session,
        },
        "paused_for_s": max(0, (spending.paused_until_ns - now_ns) // 10**9),
        "trouble": spending.trouble,
        "poison_list": spending.poisoned(),
        "ledger": ledger,
        "phases": phases,
        "last_calls": last,
    }
    if as_json:
        print_json(data)
    else:
        _tell(data)


def test(
    agent: Annotated[
        str, typer.Option(help="Only the prompt of that agent's lessons.", autocompletion=completion.agents)
    ] = "",
    as_json: Json = False,
) -> None:
    """Ask about a lesson that proves itself, once with the prompt for all agents and once with each agent's addition,
    and have a short month told; nothing is learned from it, and each costs as much as one question."""
    import time

    from spanlore.settings import Paths, child_environment, load_settings
    from spanlore_extractor.judge.appointing import judge_of
    from spanlore_extractor.judge.instructions import PromptError

    settings = load_settings()
    if not settings.judge.api_key:
        fail("the judge is off: no key. Set judge.api_key (SPANLORE_JUDGE_API_KEY).", USAGE)
    try:
        with judge_of(settings, Paths.from_environ(child_environment({})), time.time_ns()) as judge:
            assert judge is not None
            agents = ["", *sorted(judge.prompts.by_agent)]
            if agent and agent not in agents:
                fail(
                    f"nothing is added to the prompt for {agent!r}; `spanlore judge prompt --agent` says where.", USAGE
                )
            tried = [_tried(judge, name) for name in ([agent] if agent else agents)]
            if not agent:
                tried.append(_tried_chapter(judge))
    except PromptError as error:
        fail(str(error), USAGE)
    _tell_tried(tried, f"{settings.judge.model} at {settings.judge.base_url}", as_json)


def _tried(judge: Judge, agent: str) -> dict[str, Any]:
    """What the model answers about the rehearsal, with what is added for that agent."""
    from spanlore_extractor.judge.answer import UnavailableError
    from spanlore_extractor.judge.rehearsal import REHEARSAL
    from spanlore_extractor.judge.verdict import WorthlessAnswerError, read_verdict

    told: dict[str, Any] = {"prompt": f"judge.{agent}" if agent else "judge", "verdict": "", "trouble": ""}
    try:
        answer = judge.model.ask(judge.prompts.general, REHEARSAL.text, judge.prompts.added_for(agent))
        told |= _cost_of(answer)
        if answer.fault:
            raise WorthlessAnswerError(answer.fault)
        told["verdict"] = read_verdict(answer.data, REHEARSAL.spans, REHEARSAL.known_ids, judge.redactor).verdict
    except (UnavailableError, WorthlessAnswerError) as error:
        told["trouble"] = str(error)
    return told


def _tried_chapter(judge: Judge) -> dict[str, Any]:
    """Whether the model shortens a month in a way that holds."""
    from spanlore_extractor.judge.answer import UnavailableError
    from spanlore_extractor.judge.rehearsal import REHEARSAL_MONTH
    from spanlore_extractor.judge.verdict import WorthlessAnswerError
    from spanlore_extractor.summaries.writing import rehearse

    told: dict[str, Any] = {"prompt": "chapter", "verdict": "", "trouble": ""}
    try:
        answer, text = rehearse(judge.model, judge.chapter_prompt, REHEARSAL_MONTH, judge.redactor)
        told |= {**_cost_of(answer), "verdict": "told", "text": text}
    except (UnavailableError, WorthlessAnswerError) as error:
        told["trouble"] = str(error)
    return told


def _cost_of(answer: Answer) -> dict[str, Any]:
    cost = answer.cost
    return {
        "model": cost.model,
        "input_tokens": cost.input_tokens,
        "output_tokens": cost.output_tokens,
        "cost_usd": cost.usd,
    }


def _tell_tried(tried: list[dict[str, Any]], where: str, as_json: bool) -> None:
    if as_json:
        print_json({**{key: value for key, value in tried[0].items() if key != "prompt"}, "prompts": tried})
    for one in tried if not as_json else ():
        if one["trouble"]:
            tell(f"spanlore: {one['prompt']}: {where}: {one['trouble']}.")
            continue
        price = "price unknown" if one["cost_usd"] is None else f"${one['cost_usd']:.5f}"
        tokens = f"{one['input_tokens']} + {one['output_tokens']} tokens"
        write(f"{one['prompt']}: {one['model']} answers: {one['verdict']}; {tokens}, {price}.")
    if any(one["trouble"] for one in tried):
        raise typer.Exit(WRONG)


def reset(
    memory_id: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="Only this lesson.",
            autocompletion=completion.memories,
        ),
    ] = "",
    as_json: Json = False,
) -> None:
    """Take lessons off the poison list, and end a pause."""
    from dataclasses import replace

    from spanlore_extractor.judge.spending import Spending
    from spanlore_extractor.run import JUDGE_KEY

    with daemon() as (_, client):
        before = Spending.from_json(client.mining_state(JUDGE_KEY))
        if memory_id and memory_id not in before.strikes:
            fail(f"nothing is held against {memory_id!r}. `spanlore judge status` shows the list.", WRONG)
        kept = {key: count for key, count in before.strikes.items() if memory_id and key != memory_id}
        after = replace(before, strikes=kept, paused_until_ns=0, pauses=0, trouble="")
        client.set_mining_state(JUDGE_KEY, after.to_json())
    gone = sorted(set(before.poisoned()) - set(after.poisoned()))
    if as_json:
        print_json({"off_the_list": gone})
    else:
        write(f"{len(gone)} off the poison list; asking goes on.")


def prompt(
    agent: Annotated[
        str,
        typer.Option(help="What that agent's lessons are judged by.", autocompletion=completion.agents),
    ] = "",
    as_json: Json = False,
) -> None:
    """Print the prompt, and where your own version, or your addition for one agent, would lie."""
    from spanlore.settings import Paths, child_environment
    from spanlore_extractor.judge.instructions import PromptError, prompts

    if agent and not re.fullmatch(r"[A-Za-z0-9][\w.-]*", agent):
        fail(f"--agent is a harness's name, such as claude-code or codex, not {agent!r}.", USAGE)
    folder = Paths.from_environ(child_environment({})).prompts_dir
    try:
        found = prompts("judge", folder)
    except PromptError as error:
        fail(str(error), USAGE)
    file = folder / (f"judge.{agent}.md" if agent else "judge.md")
    text = "\n\n".join(part.rstrip() for part in (found.general, found.added_for(agent)) if part)
    if as_json:
        print_json({"file": str(file), "agent": agent, "text": text, "is_added": bool(found.added_for(agent))})
    else:
        what = f"What you add for {agent}" if agent else "Your own version"
        tell(f"{what}: {file}")
        write(text)


def _prompts_told() -> dict[str, Any]:
    """Which prompts are in force; what is wrong with them stops no status."""
    from spanlore.settings import Paths, child_environment
    from spanlore_extractor.judge.instructions import PromptError, prompts

    folder = Paths.from_environ(child_environment({})).prompts_dir
    try:
        found = prompts("judge", folder)
    except PromptError as error:
        return {"folder": str(folder), "is_own": False, "agents": [], "trouble": str(error)}
    is_own = (folder / "judge.md").exists()
    return {"folder": str(folder), "is_own": is_own, "agents": sorted(found.by_agent), "trouble": ""}


def _tell(data: dict[str, Any]) -> None:
    caps, today = data["caps"], data["today"]
    write(f"judge     {'on' if data['on'] else 'off: no key (judge.api_key)'}")
    write(f"model     {data['model']} at {data['base_url']}")
    tokens = f"{today['calls']} calls, {today['tokens']} of {caps['tokens_per_day']} tokens"
    write(f"today     {tokens}, ${today['usd']:.4f} of ${caps['usd_per_day']:.2f}")
    write(f"session   at most {caps['tokens_per_session']} tokens, ${caps['usd_per_session']:.2f}")
    prompts = data["prompts"]
    added = f", more for {', '.join(prompts['agents'])}" if prompts["agents"] else ""
    write(f"prompt    {prompts['trouble'] or ('your own' if prompts['is_own'] else 'packaged') + added}")
    if data["paused_for_s"]:
        write(f"paused    {data['paused_for_s']} s more: {data['trouble']}")
    if data["poison_list"]:
        write(f"poison    {', '.join(data['poison_list'])}")
    for row in data["ledger"]:
        internal = f"internal {row['internal_tokens']} (cached {row['internal_cache_read_tokens']})"
        write(f"{row['day']}  exposed {row['exposed_tokens']}, {internal} tokens, ${row['internal_usd']:.4f}")
    for row in data["phases"]:
        write(f"7 days    {row['phase']}: {row['calls']} calls, {row['tokens']} tokens, ${row['usd']:.4f}")
    for row in data["last_calls"]:
        write(f"{row['at'][:19]}  {row['memory_id']}  {row['outcome']}")
