"""Where a turn goes on: what older epochs committed of its message, as this holder takes it up.

Only rows count. A call with a result is never run again; one that was only asked for has not run; one that had
started runs again if its tool says that this is harmless, and else nobody knows what it did.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from contracts.chunks import Chunk
from llm import Reasoning
from store import Session, turns
from store.repositories import transcripts
from store.repositories.transcripts import PastCall, PastMessage, steps_of
from store.turns import Claim
from store.turns.endings import UNKNOWN
from turn_runner.execution import Result
from turn_runner.narration import AskedCall
from turn_runner.tools import TOOLS

Fate = Literal["known", "run", "unknown"]


@dataclass(slots=True)
class LeftCall(AskedCall):
    """A call that an older epoch committed."""

    state: str = "asked"
    left_input: Any = None
    output: Any = None
    error_text: str | None = None
    may_run_again: bool = False

    @classmethod
    def of(cls, row: PastCall) -> LeftCall:
        tool = TOOLS.get(row.name)
        return cls(
            row.provider_call_id,
            row.name,
            row.id,
            state=row.state,
            left_input=row.input,
            output=row.output,
            error_text=row.error_text,
            may_run_again=row.is_idempotent and tool is not None and tool.is_idempotent,
        )

    @property
    def input(self) -> Any:
        return self.left_input

    @property
    def fate(self) -> Fate:
        if self.state == "done":
            return "known"
        return "unknown" if self.state == "started" and not self.may_run_again else "run"

    def result(self, *, was_malformed: bool) -> Result:
        """What came of it, if that is `known` or `unknown`."""
        if self.fate == "unknown":
            return Result(error_text=UNKNOWN)
        return Result(self.output, self.error_text, was_malformed)


@dataclass(frozen=True, slots=True)
class LeftStep:
    """A model call that was committed: its words, and the calls that it asked for."""

    text: str
    calls: list[LeftCall]
    reasoning: list[Reasoning] = field(default_factory=list[Reasoning])


@dataclass(frozen=True, slots=True)
class Resumption:
    """`parts` are the message as its readers have it up to the cut."""

    parts: list[Chunk]
    steps: list[LeftStep]
    answers: int
    """Model calls that ended."""
    last_outcome: str | None

    @property
    def open_calls(self) -> list[LeftCall]:
        return [call for step in self.steps for call in step.calls if call.state != "done"]

    @property
    def is_silent(self) -> bool:
        """The last answer had neither words nor calls."""
        return self.answers > len(self.steps) or bool(self.steps and not (self.steps[-1].text or self.steps[-1].calls))

    @property
    def is_answered(self) -> bool:
        """The last answer asked for nothing more: only the end was missing."""
        return bool(self.steps) and not self.is_silent and not self.steps[-1].calls


async def resumption(session: Session, held: Claim, streamed: dict[int, int]) -> Resumption:
    """Takes the turn up. Raises `TurnLost`."""
    taken = await turns.take_up(session, held, streamed)
    message = await transcripts.written(session, held.message_id)
    parts = (await turns.stored_parts(session, [held.message_id]))[held.message_id]
    return Resumption(parts, left_steps(message), taken.answers, taken.last_outcome)


def left_steps(message: PastMessage) -> list[LeftStep]:
    return [
        LeftStep(
            step.text,
            [LeftCall.of(call) for call in step.calls],
            [Reasoning(kept.text, kept.provider, kept.data) for kept in step.reasoning],
        )
        for step in steps_of(message)
    ]
