"""The scripted model server, for tests: one door to what the demonstration uses too."""

from spanlore_proxy.demo.model_request import ReceivedRequest
from spanlore_proxy.demo.model_server import Answer, ModelServer, Script
from spanlore_proxy.demo.replies import Failure, Raw, Reply, Say, Think, UseTool

__all__ = [
    "Answer",
    "Failure",
    "ModelServer",
    "Raw",
    "ReceivedRequest",
    "Reply",
    "Say",
    "Script",
    "Think",
    "UseTool",
]
