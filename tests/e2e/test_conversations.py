"""Sub-agents, compaction, resume and fork of agents other than Claude Code, on traffic modelled after what each of them
was measured to send (shared research, wire behaviour of real agents, §3 and §6)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spanlore.genai.inference import CallClass
from spanlore.genai.messages import ToolCall
from spanlore.spans.ids import tool_span_id
from spanlore_proxy.conversation.tracker import Observed
from support.conversing import ends, outcomes, place, said
from support.other_agents import OtherAgent

TOOLS = [{"type": "function", "name": "exec_command"}]
CHAT_TOOLS = [{"type": "function", "function": {"name": "run_shell_command"}}]
TASK = "Find out why the build fails."


def conversation(observed: Observed) -> str:
    return observed.observation.place.conversation


def session(observed: Observed) -> str:
    return observed.observation.place.session_id


def asked_for(observed: Observed) -> list[str]:
    """Ids of the tool calls in the answer."""
    parts = [part for message in observed.inference.output for part in message.parts]
    return [part.id for part in parts if isinstance(part, ToolCall)]


def is_under(child: Observed, parent: Observed, call: str) -> bool:
    """It hangs under that tool call of the other's, in its session and its trace."""
    where = child.observation.place
    return (
        where.parent_tool_span_id == tool_span_id(conversation(parent), call)
        and where.parent_conversation == conversation(parent)
        and (where.session_id, where.trace_id) == (session(parent), parent.observation.place.trace_id)
        and where.call_class is CallClass.SUBAGENT
        and conversation(child) != conversation(parent)
    )


# --- Codex ---------------------------------------------------------------------------------------------------------


def codex(thread: str = "t-main", parent: str = "", **like: Any) -> OtherAgent:
    headers = {"session-id": "s-1", "thread-id": thread}
    if parent:
        headers |= {"x-codex-parent-thread-id": parent, "x-openai-subagent": "collab_spawn"}
    return OtherAgent("codex", headers=headers, **like)


def item(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def function(call_id: str, name: str = "exec_command", **arguments: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": json.dumps(arguments)}


def output(call_id: str, text: str = "Process exited with code 0\nOutput:\nok") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": text}


OPENING = [
    item("developer", "You are Codex."),
    item("user", "<environment_context><cwd>/w</cwd></environment_context>"),
]


def test_codex_sub_agent_hangs_under_its_call() -> None:
    """It has a thread of its own in its parent's session, and its prompt is the call's."""
    main = codex()
    items = [*OPENING, item("user", "build it")]
    spawn = function("c1", "spawn_agent", task_name="look", message=TASK)
    first = main.responses(items, spawn, tools=TOOLS)
    child = codex("t-child", "t-main", tracker=main.tracker, now_ns=main.now_ns)
    sub = child.responses([*OPENING, item("user", TASK)], item("assistant", "A typo."), tools=TOOLS)
    second = main.responses([*items, spawn, output("c1")], item("assistant", "Done."), tools=TOOLS)

    assert is_under(sub, first, "c1")
    assert said(sub) == [] and ends(sub) == [(0, "completed")]
    assert conversation(second) == conversation(first) and ends(second) == [(0, "completed")]


def test_codex_sub_agents_that_begin_with_their_parents_history() -> None:
    """As newer models' do: the parent's call, answered with `aborted`, stays the parent's; each is known by its name,
    since its task is sealed."""
    main = codex()
    items = [*OPENING, item("user", "build it")]
    spawns = [
        function(f"c{n}", "spawn_agent", task_name=name, message=TASK) for n, name in enumerate(("left", "right"))
    ]
    first = main.responses(items, item("assistant", "I ask."), *spawns, tools=TOOLS)
    for number, name in reversed([*enumerate(("left", "right"))]):
        child = codex(f"t-{name}", "t-main", tracker=main.tracker, now_ns=main.now_ns)
        child.headers["x-codex-turn-metadata"] = json.dumps({"agent_name": f"/main/{name}"})
        task = {"type": "agent_message", "author": "/main", "content": [{"type": "encrypted_content", "x": "gAAA"}]}
        aborted = [output(f"c{n}", "aborted") for n in range(2)]
        history = [*items, item("assistant", "I ask."), *spawns, *aborted, item("developer", "You are an agent."), task]
        sub = child.responses(history, function(f"d{number}", cmd="make"), tools=TOOLS)
        history += [function(f"d{number}", cmd="make"), output(f"d{number}")]
        later = child.responses(history, item("assistant", "A typo."), tools=TOOLS)

        assert is_under(sub, first, f"c{number}"), name
        assert outcomes(sub) == [] and [outcome[0] for outcome in outcomes(later)] == [f"d{number}"]
        assert said(sub) == [] and (ends(sub), ends(later)) == ([], [(0, "completed")])


def test_codex_after_an_interruption_begins_a_turn() -> None:
    """It says so in a message of its own; the call that was stopped belongs to the turn before."""
    agent = codex()
    items = [*OPENING, item("user", "build it")]
    agent.responses(items, function("c1", cmd="make"), tools=TOOLS)
    items += [
        function("c1", cmd="make"),
        output("c1", "aborted by user after 3.2s"),
        item("user", "<turn_aborted>\nThe user interrupted the previous turn on purpose.\n</turn_aborted>"),
        item("user", "use ninja"),
    ]
    onward = agent.responses(items, item("assistant", "Ok."), tools=TOOLS)

    assert said(onward) == [("user_message", "use ninja")]
    assert ends(onward) == [(0, "interrupted"), (1, "completed")]


def test_what_another_process_goes_on_with_is_a_new_turn() -> None:
    """The one before ended in the middle of its work (an error of the API, a closed terminal): nobody typed while the
    agent worked."""
    agent = codex()
    items = [*OPENING, item("user", "build it")]
    agent.responses(items, function("c1", cmd="make"), tools=TOOLS)
    again = codex(tracker=agent.tracker, now_ns=agent.now_ns, run_id="run-ffffffffffff")
    items += [function("c1", cmd="make"), output("c1"), item("user", "and test")]
    resumed = again.responses(items, item("assistant", "Ok."), tools=TOOLS)

    assert said(resumed) == [("user_message", "and test")]
    assert ends(resumed) == [(0, "interrupted"), (1, "completed")]
    assert [outcome[0] for outcome in outcomes(resumed)] == ["c1"]


def test_codex_compaction_goes_on_in_the_same_conversation() -> None:
    """The summariser's call is told as one, and answers no person; then an opaque item stands for the history."""
    agent = codex()
    items = [*OPENING, item("user", "build it")]
    first = agent.responses(items, item("assistant", "Built."), tools=TOOLS)
    items += [item("assistant", "Built."), item("user", "now test it")]
    summary = {"type": "compaction", "encrypted_content": "gAAA"}
    compaction = agent.responses([*items, {"type": "compaction_trigger"}], summary, tools=TOOLS)
    after = agent.responses([*OPENING, summary, item("user", "now test it")], item("assistant", "Green."), tools=TOOLS)
    onward = agent.responses(
        [*OPENING, summary, item("user", "now test it"), item("assistant", "Green."), item("user", "thanks")],
        item("assistant", "Welcome."),
        tools=TOOLS,
    )

    assert compaction.observation.place.call_class is CallClass.COMPACTION
    assert {conversation(one) for one in (first, compaction, after, onward)} == {conversation(first)}
    assert after.observation.place.is_compacted
    assert said(onward) == [("user_message", "thanks")]


@pytest.mark.parametrize("is_sealed", [True, False], ids=["sealed", "in-words"])
def test_codex_compaction_of_a_first_turn(*, is_sealed: bool) -> None:
    """All that went before the model's first answer is kept, and the summary stands where the answer stood."""
    agent = codex()
    items = [*OPENING, item("user", "build it")]
    agent.responses(items, function("c1", cmd="make"), tools=TOOLS)
    asks = item("user", "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a summary.")
    trigger = {"type": "compaction_trigger"} if is_sealed else asks
    agent.responses([*items, function("c1", cmd="make"), output("c1"), trigger], item("assistant", "It builds."))
    words = item("user", "Another language model started to solve this problem. It builds.")
    summary = {"type": "compaction", "encrypted_content": "gAAA"} if is_sealed else words
    after = agent.responses([*items, summary], item("assistant", "Built."), tools=TOOLS)

    assert after.observation.place.is_compacted
    assert (said(after), outcomes(after), ends(after)) == ([], [], [(0, "completed")])


def test_codex_resume_is_the_same_session() -> None:
    """Another process sends the whole history with the same ids: only the new prompt is new."""
    agent = codex()
    items = [*OPENING, item("user", "build it")]
    first = agent.responses(items, item("assistant", "Built."), tools=TOOLS)
    again = codex(tracker=agent.tracker, now_ns=agent.now_ns, run_id="run-ffffffffffff")
    resumed = again.responses(
        [*items, item("assistant", "Built."), item("user", "and test")], item("assistant", "Ok."), tools=TOOLS
    )

    assert (conversation(resumed), session(resumed)) == (conversation(first), "s-1")
    assert said(resumed) == [("user_message", "and test")] and place(resumed)[0] == 1


def test_codex_fork_points_to_where_it_came_from() -> None:
    """A new session that begins with another's history; what was told there is not told again."""
    agent = codex()
    items = [*OPENING, item("user", "build it")]
    first = agent.responses(items, function("c1", cmd="make"), tools=TOOLS)
    items += [function("c1", cmd="make"), output("c1")]
    agent.responses(items, item("assistant", "Built."), tools=TOOLS)
    fork = OtherAgent("codex", agent.tracker, {"session-id": "s-2", "thread-id": "t-2"}, now_ns=agent.now_ns)
    forked = fork.responses(
        [*items, item("assistant", "Built."), item("user", "use ninja")], item("assistant", "Ok."), tools=TOOLS
    )

    assert session(forked) == "s-2"
    assert forked.observation.place.parent_conversation == conversation(first)
    assert said(forked) == [("user_message", "use ninja")] and outcomes(forked) == []


def test_codex_retry_stands_where_the_first_attempt_stood() -> None:
    """Nothing in body or headers changes."""
    agent = codex()
    items = [*OPENING, item("user", "build it")]
    document = {"model": "m", "input": items, "tools": TOOLS}
    failed = agent.exchange("/v1/responses", document, {"error": {"type": "server_error", "message": "x"}})
    answered = agent.responses(items, item("assistant", "Built."), tools=TOOLS)

    assert [place(one) for one in (failed, answered)] == [(0, 0, 1), (0, 0, 2)]
    assert said(answered) == []


# --- OpenCode ------------------------------------------------------------------------------------------------------


def opencode(session: str = "ses_main", parent: str = "", **like: Any) -> OtherAgent:
    headers = {"x-session-id": session} | ({"x-parent-session-id": parent} if parent else {})
    return OtherAgent("opencode", headers=headers, **like)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def turn(role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


BASH = [{"name": "bash", "input_schema": {"type": "object"}}]


def test_opencode_sub_agent_hangs_under_its_call() -> None:
    """It names its parent's session; its own id tells it from other sub-agents."""
    main = opencode()
    call = {
        "type": "tool_use",
        "id": "t1",
        "name": "task",
        "input": {"description": "look", "prompt": TASK, "subagent_type": "general"},
    }
    first = main.messages([turn("user", text("build it"))], call, tools=BASH)
    child = opencode("ses_child", "ses_main", tracker=main.tracker, now_ns=main.now_ns)
    sub = child.messages([turn("user", text(TASK))], text("A typo."), tools=BASH)
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": '<task id="ses_child" state="completed">'}
    second = main.messages(
        [turn("user", text("build it")), turn("assistant", call), turn("user", answer)], text("Done."), tools=BASH
    )

    assert is_under(sub, first, "t1")
    assert [outcome[0] for outcome in outcomes(second)] == ["t1"] and ends(second) == [(0, "completed")]


def test_opencode_compaction() -> None:
    """The summariser has no tools and no history of its own; what follows is the same session."""
    agent = opencode()
    first = agent.messages([turn("user", text("build it"))], text("Built."), tools=BASH)
    summary = agent.messages(
        [turn("user", text("<conversation>build it</conversation>"))],
        text("We built it."),
        system=[text("You are an anchored context summarization agent.")],
    )
    after = agent.messages(
        [
            turn("user", text("What did we do so far?")),
            turn("assistant", text("We built it.")),
            turn("user", text("Continue if you have next steps, or stop and ask for clarification.")),
        ],
        text("Done."),
        tools=BASH,
    )

    assert summary.observation.place.call_class is CallClass.COMPACTION
    assert {session(one) for one in (first, summary, after)} == {"ses_main"}
    assert said(summary) == said(after) == []


def test_opencode_compaction_between_two_turns() -> None:
    """Nothing of the history is kept; the question before the summary tells, and nobody asked it."""
    agent = opencode()
    agent.messages([turn("user", text("build it"))], text("Built."), tools=BASH)
    past = [turn("user", text("What did we do so far?")), turn("assistant", text("We built it."))]
    ask = "Continue if you have next steps, or stop and ask for clarification."
    after = agent.messages([*past, turn("user", text(ask))], text("Nothing left."), tools=BASH)
    onward = agent.messages(
        [*past, turn("user", text(ask)), turn("assistant", text("Nothing left.")), turn("user", text("and test"))],
        text("Green."),
        tools=BASH,
    )

    assert after.observation.place.is_compacted and conversation(onward) == conversation(after)
    assert [(turn.turn_index, turn.inferences, turn.revision) for turn in after.observation.turns] == [(0, 2, 1)]
    assert said(onward) == [("user_message", "and test")] and place(onward)[0] == 1


# --- Gemini CLI ----------------------------------------------------------------------------------------------------

MAIN_TOOLS = [{"functionDeclarations": [{"name": "run_shell_command"}, {"name": "invoke_agent"}]}]
AGENT_TOOLS = [{"functionDeclarations": [{"name": "read_file"}, {"name": "complete_task"}]}]


def content(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def invoke(name: str, prompt: str) -> dict[str, Any]:
    return {"functionCall": {"name": "invoke_agent", "args": {"agent_name": name, "prompt": prompt}}}


@pytest.mark.parametrize(
    "first_message",
    [
        TASK,
        f"Your task is to do a deep investigation of the codebase:\n<objective>\n{TASK}\n</objective>",
        "Get Started!",
    ],
)
def test_gemini_sub_agent_hangs_under_its_call(first_message: str) -> None:
    """Nothing on the wire names session or agent: the run and the call's prompt tell, else that it is the only call."""
    main = OtherAgent("gemini-cli")
    contents = [content("user", {"text": "build it"})]
    call = invoke("codebase_investigator", TASK)
    first = main.gemini(contents, call, tools=MAIN_TOOLS)
    (asked,) = asked_for(first)
    inner = [content("user", {"text": first_message})]
    sub = main.gemini(inner, {"functionCall": {"name": "read_file", "args": {}}}, tools=AGENT_TOOLS)
    inner += [
        content("model", {"functionCall": {"name": "read_file", "args": {}}}),
        content("user", {"functionResponse": {"name": "read_file", "response": {"output": "x"}}}),
    ]
    later = main.gemini(inner, {"functionCall": {"name": "complete_task", "args": {}}}, tools=AGENT_TOOLS)
    answer = content("user", {"functionResponse": {"name": "invoke_agent", "response": {"output": "A typo."}}})
    second = main.gemini([*contents, content("model", call), answer], {"text": "Done."}, tools=MAIN_TOOLS)

    assert is_under(sub, first, asked) and is_under(later, first, asked)
    assert conversation(sub) == conversation(later)
    assert sub.observation.place.session_inferred and said(sub) == []
    assert conversation(second) == conversation(first) and ends(second) == [(0, "completed")]


def test_two_gemini_sub_agents_are_two() -> None:
    """Started side by side with prompts of their own, each goes to its call; with the very same prompt, too."""
    main = OtherAgent("gemini-cli")
    calls = [invoke("generalist", "look left"), invoke("generalist", "look right"), invoke("generalist", "look right")]
    first = main.gemini([content("user", {"text": "build it"})], *calls, tools=MAIN_TOOLS)
    asked = asked_for(first)
    right, left = (
        main.gemini([content("user", {"text": f"look {side}"})], {"text": "x"}, tools=AGENT_TOOLS)
        for side in ("right", "left")
    )

    assert is_under(left, first, asked[0])
    assert is_under(right, first, asked[1]) or is_under(right, first, asked[2])
    assert conversation(left) != conversation(right)


def test_a_sub_agent_whose_parent_nobody_saw_stands_alone() -> None:
    """Another run's call is not taken for its own."""
    elsewhere = OtherAgent("gemini-cli", run_id="run-ffffffffffff")
    first = elsewhere.gemini([content("user", {"text": "go"})], invoke("generalist", TASK), tools=MAIN_TOOLS)
    lonely = OtherAgent("gemini-cli", elsewhere.tracker, now_ns=elsewhere.now_ns)
    sub = lonely.gemini([content("user", {"text": TASK})], {"text": "x"}, tools=AGENT_TOOLS)

    assert sub.observation.place.parent_tool_span_id is None
    assert session(sub) != session(first)


# --- agents that speak Chat Completions, and pi --------------------------------------------------------------------


def chat(role: str, words: str | None, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": words, **more}


def test_qwen_sub_agent_hangs_under_its_call() -> None:
    """It sends its parent's session id, and nothing else tells but its prompt."""
    agent = OtherAgent("qwen-code")
    metadata = {"sessionId": "q-1", "promptId": "q-1########0"}
    main = [chat("system", "You are Qwen."), chat("user", "build it")]
    call = ("call_1", "agent", {"description": "look", "prompt": TASK, "subagent_type": "general-purpose"})
    first = agent.chat(main, call, tools=CHAT_TOOLS, metadata=metadata)
    sub = agent.chat([chat("system", "You look."), chat("user", TASK)], "A typo.", tools=CHAT_TOOLS, metadata=metadata)

    assert is_under(sub, first, "call_1")


def test_pi_resume_points_to_the_session_it_goes_on_from() -> None:
    """With Anthropic's API pi names no session; another run that begins with the same talk goes on from it, and what
    was told is not told again."""
    agent = OtherAgent("pi")
    system = [text("You are operating inside pi, a coding agent harness.")]
    history = [turn("user", text("build it"))]
    call = {"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "make"}}
    first = agent.messages(history, call, tools=BASH, system=system)
    history += [turn("assistant", call), turn("user", {"type": "tool_result", "tool_use_id": "t1", "content": "ok"})]
    agent.messages(history, text("Built."), tools=BASH, system=system)
    again = OtherAgent("pi", agent.tracker, run_id="run-ffffffffffff", now_ns=agent.now_ns)
    history += [turn("assistant", text("Built.")), turn("user", text("and test"))]
    resumed = again.messages(history, text("Green."), tools=BASH, system=system)

    assert resumed.observation.place.parent_conversation == conversation(first)
    assert said(resumed) == [("user_message", "and test")] and outcomes(resumed) == []
    assert place(resumed)[0] == 1


def test_two_agents_without_ids_in_one_directory_are_two_sessions() -> None:
    """mini-swe-agent names nothing: the run tells them apart, even with the very same task."""
    one = OtherAgent("mini-swe-agent")
    other = OtherAgent("mini-swe-agent", one.tracker, run_id="run-ffffffffffff")
    task = [chat("system", "You are a helpful assistant that can interact with a computer."), chat("user", "go")]
    sessions = {session(agent.chat(task, "x", tools=CHAT_TOOLS)) for agent in (one, other)}

    assert len(sessions) == 2


# --- clients that name nothing, when they replace their history or another process goes on with it ------------------


def reminded(words: str, *reminders: str) -> dict[str, Any]:
    """As Qwen Code sends a prompt: reminders before it, which come and go."""
    parts = [f"<system-reminder>\n{one}\n</system-reminder>" for one in reminders]
    return {"role": "user", "content": [{"type": "text", "text": text} for text in (*parts, words)]}


def answered(call_id: str, **arguments: Any) -> list[dict[str, Any]]:
    function = {"name": "run_shell_command", "arguments": json.dumps(arguments)}
    call = {"id": call_id, "type": "function", "function": function}
    return [chat("assistant", None, tool_calls=[call]), {"role": "tool", "tool_call_id": call_id, "content": "ok"}]


SYSTEM = chat("system", "You are Qwen.")
SHELL = ("c1", "run_shell_command", {"command": "make"})


def test_qwen_compaction_in_the_middle_of_a_turn() -> None:
    """Its two summarisers (the first with tools) speak for nobody; the summary begins with other words than the
    history, and is the same session, turn and conversation."""
    agent = OtherAgent("qwen-code")
    opening = reminded("build it", "skills", "date")
    first = agent.chat([SYSTEM, opening], SHELL, tools=CHAT_TOOLS)
    history = [SYSTEM, reminded("build it", "skills"), *answered("c1", command="make")]
    ask = "You are the component that summarizes a conversation when its context window is about to overflow."
    tried = agent.chat([*history, chat("user", ask)], "no", tools=CHAT_TOOLS)
    ask = "First, reason in your <analysis> block. Then, produce the <state_snapshot> XML."
    summarised = agent.chat([*history, chat("user", ask)], "<state_snapshot>it builds</state_snapshot>")
    summary = "<state_snapshot>it builds</state_snapshot>\n\nResume the prior task using the summary above. Go on."
    after = [SYSTEM, reminded(summary, "skills"), chat("assistant", "Got it. Thanks for the additional context!")]
    onward = agent.chat([*after, *answered("c1", command="make")], "Built.", tools=CHAT_TOOLS)
    thanks = agent.chat(
        [*after, *answered("c1", command="make"), chat("assistant", "Built."), chat("user", "thanks")],
        "Welcome.",
        tools=CHAT_TOOLS,
    )
    everything = (first, tried, summarised, onward, thanks)

    assert {one.observation.place.call_class for one in (tried, summarised)} == {CallClass.COMPACTION}
    assert len({session(one) for one in everything}) == len({conversation(one) for one in everything}) == 1
    assert onward.observation.place.is_compacted and ends(onward) == [(0, "completed")]
    assert [said(one) for one in everything] == [
        [("user_message", "build it")],
        [],
        [],
        [],
        [("user_message", "thanks")],
    ]
    assert [outcome[0] for one in everything for outcome in outcomes(one)] == ["c1"]


def test_a_summary_that_another_process_begins_with() -> None:
    """It asked for the summary itself, of a history that an earlier process is known for: what follows points there."""
    agent = OtherAgent("qwen-code")
    first = agent.chat([SYSTEM, reminded("build it", "skills")], SHELL, tools=CHAT_TOOLS)
    history = [SYSTEM, reminded("build it"), *answered("c1", command="make")]
    agent.chat(history, "Built.", tools=CHAT_TOOLS)
    again = OtherAgent("qwen-code", agent.tracker, run_id="run-ffffffffffff", now_ns=agent.now_ns)
    ask = "First, reason in your <analysis> block. Then, produce the <state_snapshot> XML."
    altered = [SYSTEM, reminded("build it", "restored"), *answered("c1", command="make"), chat("assistant", "Built.")]
    summarised = again.chat([*altered, chat("user", ask)], "We built it.")
    summary = reminded("We built it.\n\nResume the prior task using the summary above. Go on.")
    got = chat("assistant", "Got it. Thanks for the additional context!")
    onward = again.chat([SYSTEM, summary, got, chat("user", "and test")], "Green.", tools=CHAT_TOOLS)

    assert summarised.observation.place.call_class is CallClass.COMPACTION
    assert session(summarised) == session(first)
    assert onward.observation.place.parent_conversation == conversation(first)
    assert said(onward) == [("user_message", "and test")]


@pytest.mark.parametrize("harness", ["qwen-code", "gemini-cli"])
def test_a_resume_that_writes_its_history_anew(harness: str) -> None:
    """Reminders moved, a result written twice: the model's answers are the same, and nothing is told again."""
    agent = OtherAgent(harness)
    first = agent.chat([SYSTEM, reminded("build it", "skills", "date")], SHELL, tools=CHAT_TOOLS)
    history = [SYSTEM, reminded("build it", "skills", "date"), *answered("c1", command="make")]
    agent.chat(history, "Built.", tools=CHAT_TOOLS)
    again = OtherAgent(harness, agent.tracker, run_id="run-ffffffffffff", now_ns=agent.now_ns)
    call, result = answered("c1", command="make")
    history = [
        SYSTEM,
        reminded("build it"),
        call,
        result,
        result,
        chat("assistant", "Built."),
        chat("user", "and test"),
    ]
    resumed = again.chat(history, "Green.", tools=CHAT_TOOLS)
    elsewhere = OtherAgent("pi", agent.tracker, run_id="run-eeeeeeeeeeee", now_ns=again.now_ns)

    assert resumed.observation.place.parent_conversation == conversation(first)
    assert (said(resumed), outcomes(resumed), place(resumed)[0]) == ([("user_message", "and test")], [], 1)
    assert elsewhere.chat(history, "x", tools=CHAT_TOOLS).observation.place.parent_conversation != conversation(first)


def test_qwen_without_session_ids_knows_its_sub_agents_by_their_prompt() -> None:
    """With any provider but its own it names nothing; a sub-agent says its task first, and nobody typed that."""
    agent = OtherAgent("qwen-code")
    call = ("call_1", "agent", {"description": "look", "prompt": TASK, "subagent_type": "general-purpose"})
    first = agent.chat([SYSTEM, reminded("build it", "skills")], call, tools=CHAT_TOOLS)
    system = chat("system", "You look.")
    sub = agent.chat([system, reminded(TASK, "skills")], SHELL, tools=CHAT_TOOLS)
    later = agent.chat([system, reminded(TASK, "skills"), *answered("c1", command="make")], "x", tools=CHAT_TOOLS)
    typed = OtherAgent("qwen-code", agent.tracker, run_id="run-ffffffffffff", now_ns=agent.now_ns)

    assert is_under(sub, first, "call_1") and conversation(later) == conversation(sub)
    assert said(sub) == [] and [outcome[0] for outcome in outcomes(later)] == ["c1"]
    assert said(typed.chat([system, reminded(TASK)], "x", tools=CHAT_TOOLS)) == [("user_message", TASK)]


def test_qwen_keeps_its_own_memory_beside_the_conversation() -> None:
    """That call goes on from the whole history, with tools, and belongs to no person."""
    agent = OtherAgent("qwen-code")
    first = agent.chat([SYSTEM, reminded("build it")], "Built.", tools=CHAT_TOOLS)
    ask = "Managed memory has TWO directories. Choose which one to write each memory into."
    history = [SYSTEM, reminded("build it"), chat("assistant", "Built.")]
    kept = agent.chat([*history, chat("user", ask)], "Nothing.", tools=CHAT_TOOLS)
    onward = agent.chat([*history, chat("user", "thanks")], "Welcome.", tools=CHAT_TOOLS)

    assert kept.observation.place.call_class is CallClass.SIDE and session(kept) == session(first)
    assert said(kept) == [] and said(onward) == [("user_message", "thanks")]
    assert conversation(onward) == conversation(first) and place(onward)[0] == 1


def test_a_summary_that_an_earlier_process_asked_for_as_it_ended() -> None:
    """pi's: the next process begins with it and points to the conversation that it stands for; of another directory's
    it knows nothing."""
    agent = OtherAgent("pi")
    system = [text("You are operating inside pi, a coding agent harness.")]
    first = agent.messages([turn("user", text("build it"))], text("Built."), tools=BASH, system=system)
    summariser = [text("You are a context summarization assistant.")]
    history = turn("user", text("<conversation>build it</conversation>"))
    agent.messages([history], text("We built it."), system=summariser)
    summary = "The conversation history before this point was compacted into the following summary:\n\nWe built it."
    after = [turn("user", text(summary)), turn("assistant", text("Built.")), turn("user", text("and test"))]
    again = OtherAgent("pi", agent.tracker, run_id="run-ffffffffffff", now_ns=agent.now_ns)
    onward = again.messages(after, text("Green."), tools=BASH, system=system)
    other = OtherAgent("pi", agent.tracker, run_id="run-eeeeeeeeeeee", now_ns=again.now_ns, cwd="/w/other")
    elsewhere = other.messages(after, text("Green."), tools=BASH, system=system)

    assert onward.observation.place.parent_conversation == conversation(first)
    assert said(onward) == [("user_message", "and test")]
    assert elsewhere.observation.place.parent_conversation != conversation(first)


def test_aiders_summary_is_a_compaction() -> None:
    """It is asked for beside the conversation; what follows begins with it and is the same session."""
    agent = OtherAgent("aider")
    system = chat("system", "Act as an expert developer. Use a *SEARCH/REPLACE block*")
    first = agent.chat([system, chat("user", "build it")], "Built.")
    ask = chat("system", "*Briefly* summarize this partial conversation about programming.")
    summarised = agent.chat([ask, chat("user", "# USER\nbuild it\n# ASSISTANT\nBuilt.")], "I asked you to build it.")
    summary = chat("user", "I spoke to you previously about a number of things.\nI asked you to build it.")
    onward = agent.chat([system, summary, chat("assistant", "Ok."), chat("user", "and test")], "Green.")

    assert summarised.observation.place.call_class is CallClass.COMPACTION
    assert {session(one) for one in (first, summarised, onward)} == {session(first)}
    assert onward.observation.place.is_compacted
    assert said(onward) == [("user_message", "and test")] and said(summarised) == []
