"""What the judge may answer, and what makes an answer worthless. A judge never writes what an agent is shown: it keeps
or refuses what templates made of the evidence. For two memories that say the same it may propose a text to a person."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from spanlore.memory.shapes import is_refusal, suspicious
from spanlore.redaction.redact import Redactor

TOOL: Final = "verdict"


class Verdict(BaseModel):
    """The judge's answer, in the order in which it is to think."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    refutation: str = Field(max_length=600, description="The strongest case against the lesson, one sentence.")
    verdict: Literal["keep", "refuse", "unsure"]
    evidence: tuple[str, ...] = Field(default=(), max_length=24, description="span_ids that show the lesson.")
    durable: bool = Field(default=False, description="It will still hold in a month.")
    inferable: bool = Field(default=False, description="A capable agent finds it out by looking.")
    duplicate_of: str = Field(default="", max_length=40, description="Id of a known memory that says it already.")
    merged_text: str = Field(
        default="",
        max_length=600,
        description="With duplicate_of: one text that says both, for a person to take or not.",
    )
    reason: str = Field(default="", max_length=600, description="One sentence for the person who reviews this.")


class WorthlessAnswerError(ValueError):
    """The model answered, and its answer can't be used. The message says why."""


def tool() -> dict[str, Any]:
    """The tool the model is made to call."""
    return {"name": TOOL, "description": "The verdict on the lesson.", "input_schema": Verdict.model_json_schema()}


def read_verdict(data: object, spans: Collection[str], known_ids: Collection[str], redactor: Redactor) -> Verdict:
    """The verdict in a tool call's input.

    Raises:
        WorthlessAnswerError: not the schema, spans or memories that do not exist, a refusal, or text with a secret or
            a suspicious shape in it.
    """
    try:
        found = Verdict.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(word) for word in first["loc"])
        raise WorthlessAnswerError(f"not the schema: {where or 'answer'}: {first['msg']}") from None
    invented = [span for span in found.evidence if span not in spans]
    if invented:
        raise WorthlessAnswerError("it cites spans that do not exist")
    if found.verdict == "keep" and not found.evidence:
        raise WorthlessAnswerError("it keeps without evidence")
    if found.duplicate_of and found.duplicate_of not in known_ids:
        raise WorthlessAnswerError("it names a memory that does not exist")
    if found.merged_text and not found.duplicate_of:
        raise WorthlessAnswerError("it merges with nothing")
    said = (found.refutation, found.reason, found.merged_text)
    if any(map(is_refusal, said)):
        raise WorthlessAnswerError("a refusal, not a verdict")
    if any(suspicious(part) or redactor.redact(part).count for part in said):
        raise WorthlessAnswerError("its words have a suspicious shape or a secret in them")
    return found
