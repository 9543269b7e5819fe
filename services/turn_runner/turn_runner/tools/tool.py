"""What a tool is: one file, one `TOOL`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from turn_runner.settings import RunnerSettings
from turn_runner.web import Web

Where = Literal["server", "workstation", "client", "mcp"]
Tier = Literal["read", "proposal", "write", "approval", "operator"]


class Input(BaseModel):
    """Arguments of a tool: strict, so that a model learns of a wrong name instead of being ignored."""

    model_config = ConfigDict(extra="forbid", strict=True)


I = TypeVar("I", bound=Input)  # noqa: E741 - the usual letter for an input


class ToolFailed(Exception):
    """The tool cannot do this; the text goes to the model, and to the person who opens the call."""


@dataclass(frozen=True)
class ToolContext:
    """For whom a tool runs, and with what."""

    user_id: UUID
    turn_id: UUID
    call_id: UUID
    """Ours; `turn_id/call_id` is the idempotency key for a system that takes one."""
    settings: RunnerSettings
    web: Web
    user_settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The user's own saved settings, by name."""


@dataclass(frozen=True)
class Tool(Generic[I]):
    """`description` tells the model when to use it, what the result means, and what it is not for; `title` and
    `summary` tell a person. `timeout` is in seconds. What a foreign tool gives was written by strangers: a model gets
    it marked as such.
    """

    name: str
    title: str
    summary: str
    description: str
    input: type[I]
    run: Callable[[I, ToolContext], Awaitable[Any]]
    tier: Tier = "read"
    where: Where = "server"
    is_idempotent: bool = True
    is_foreign: bool = False
    timeout: float = 10.0

    @cached_property
    def schema(self) -> dict[str, Any]:
        return self.input.model_json_schema()
