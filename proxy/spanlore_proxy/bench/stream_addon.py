"""The three lines that make bare mitmdump stream event-streams; loaded into the benchmark's comparison with `-s`."""

from mitmproxy import http


def responseheaders(flow: http.HTTPFlow) -> None:
    """Streams the response instead of buffering it, which stock mitmproxy does not do for event-streams."""
    assert flow.response is not None
    flow.response.stream = "text/event-stream" in flow.response.headers.get("content-type", "")
