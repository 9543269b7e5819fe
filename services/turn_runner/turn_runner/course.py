"""What the model is told within one turn: the opening, then each step's words, calls and results.

Steps that another runner made and steps of our own go in by the same door, so that a model which is asked after a
takeover gets the very bytes that it would have got without one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from llm import Assistant, Message, Reasoning, ToolCall, ToolResult, User
from turn_runner.context import arguments_of
from turn_runner.execution import Result
from turn_runner.guards import Guard
from turn_runner.narration import AskedCall

EMPTY_ANSWER_NUDGE = "(Your last answer was empty. Please answer now, in words.)"


@dataclass(slots=True)
class Course:
    messages: list[Message]
    answer_now: bool = False
    """The loop runs in circles, or said nothing: no more tools."""
    was_nudged: bool = False
    _guard: Guard = field(default_factory=Guard)

    def exchanged(
        self,
        text: str,
        calls: Sequence[AskedCall],
        results: Sequence[Result],
        reasoning: Sequence[Reasoning] = (),
    ) -> None:
        """A step with tool calls and what came of them; its reasoning goes back to whoever reasoned so."""
        verdict, texts = self._guard.look(list(zip(calls, results, strict=True)))
        self.answer_now = verdict == "answer now"
        asked = tuple(ToolCall(call.provider_call_id, call.name, arguments_of(call.input)) for call in calls)
        self.messages.append(Assistant(text, asked, tuple(reasoning)))
        self.messages += [ToolResult(call.provider_call_id, told) for call, told in zip(calls, texts, strict=True)]

    def nudge(self) -> None:
        """The model said nothing; it is asked once more."""
        self.answer_now = self.was_nudged = True
        self.messages.append(User(EMPTY_ANSWER_NUDGE))

    @property
    def is_in_circles(self) -> bool:
        return self.answer_now and not self.was_nudged
