"""What bare mitmdump is given, to be compared fairly."""

import pytest
from mitmproxy.test import tflow

from spanlore_proxy.bench.stream_addon import responseheaders


@pytest.mark.parametrize(("content_type", "is_streamed"), [("text/event-stream", True), ("application/json", False)])
def test_only_event_streams_are_streamed(content_type: str, is_streamed: bool) -> None:
    """An event-stream is passed on chunk by chunk, anything else is buffered as stock mitmproxy does."""
    flow = tflow.tflow(resp=True)
    assert flow.response is not None
    flow.response.headers["content-type"] = content_type
    responseheaders(flow)

    assert flow.response.stream is is_streamed
