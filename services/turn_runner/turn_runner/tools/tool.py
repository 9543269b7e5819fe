"""What a tool is: one file, one `TOOL`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict

Tier = Literal["read", "proposal", "write", "approval", "operator"]


class Input(BaseModel):
    """Arguments of a tool: strict, so that a model learns of a wrong name instead of being ignored."""

    model_config = ConfigDict(extra="forbid", strict=True)


I = TypeVar("I", bound=Input)  # noqa: E741 - the usual letter for an input


class ToolFailed(Exception):
    """The tool cannot do this; the text goes to the model, and to the person who opens the call."""


@dataclass(frozen=True)
class Tool(Generic[I]):
    """`description` says when to use it, what the result means, and what it is not for. `timeout` is in seconds."""

    name: str
    description: str
    input: type[I]
    run: Callable[[I], Awaitable[Any]]
    tier: Tier = "read"
    is_idempotent: bool = True
    timeout: float = 10.0

    @cached_property
    def schema(self) -> dict[str, Any]:
        return self.input.model_json_schema()
