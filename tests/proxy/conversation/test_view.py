"""A request's messages, decoded as they are asked for."""

from support.conversing import assistant, call, result, text, user, view

MESSAGES = [user("go"), assistant(call("t1", "ls"), call("t2", "ps")), user(result("t1", "x"), result("t2", "y"))]


def test_positions_of_the_models_messages() -> None:
    """Found without decoding."""
    found = view(*MESSAGES)

    assert (len(found), found.is_assistant(1), found.after_last_answer()) == (3, True, 2)
    assert (found.answers_before(3), found.answers_before(1)) == (1, 0)
    assert found.position_of_call(frozenset({"t2"})) == 1 and found.position_of_call(frozenset({"zz"})) == -1
    assert found.tool_calls_before(3)[0] == 1 and set(found.tool_calls_before(3)[1]) == {"t1", "t2"}
    assert found.tool_calls_before(1) == (-1, {})
    assert view(user("x")).after_last_answer() == 0


def test_prompts_are_told_when_their_hash_is_new() -> None:
    """The first block of Claude Code's, which changes with every call, is left out."""
    tools = [{"name": "Bash", "input_schema": {}}]
    first = view(user("x"), system=[text("x-anthropic-billing-header: cch=1"), text("You code.")], tools=tools)
    second = view(user("x"), system=[text("x-anthropic-billing-header: cch=2"), text("You code.")], tools=tools)
    parts, digest = first.system(())
    definitions, tools_digest = first.tools(())

    assert [part.content for part in parts] == ["You code."]  # type: ignore[union-attr]
    assert digest is not None and second.system((digest,)) == ((), digest)
    assert [tool.name for tool in definitions] == ["Bash"]
    assert tools_digest is not None and second.tools((tools_digest,)) == ((), tools_digest)
    assert view(user("x")).system(()) == ((), None) and view(user("x")).tools(()) == ((), None)


def test_an_answers_echo_has_the_digest_of_the_message_sent_back() -> None:
    """So that it is recognised in the next request."""
    found = view(*MESSAGES)

    assert found.echo_of(MESSAGES[1]) == found.chain[16:32]
    assert found.echo_of(None) == b""
