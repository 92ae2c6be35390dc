"""A request beside its conversation."""

from spanlore.spans.place import Channel, HumanMessage
from spanlore_proxy.conversation.scene import text_hash
from support.conversing import Play, call, result, user


def test_kept_messages_are_not_new_after_a_compaction() -> None:
    """The summary is; what the client kept word for word was told before."""
    play = Play().say(user("one"))
    play.ask(call("t1", "ls"))
    play.say(user(result("t1", "x"))).ask("done")
    summary = user("This session is being continued from a previous conversation. Summary.")
    play.messages = [summary, *play.messages[-3:-1], user("two")]
    observed = play.ask("ok")

    assert [type(m.parts[0]).__name__ for m in observed.inference.new_messages] == ["Text", "Text"]
    assert [human.text for human in observed.observation.human] == ["two"]
    assert observed.observation.tools == ()


def test_equal_words_have_equal_hashes() -> None:
    """Whatever channel they came by."""
    assert text_hash(HumanMessage(Channel.QUEUED, "x")) == text_hash(HumanMessage(Channel.USER_MESSAGE, "x"))
