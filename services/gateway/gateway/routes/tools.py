"""The tools that agents can have."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from gateway.http import Routes
from gateway.parts import CallerOf
from instructions import known_tools

routes = Routes("tools")


class ToolOut(BaseModel):
    name: str = Field(description="As agents' `capabilities` name it.")
    title: str
    summary: str
    tier: Literal["read", "proposal", "write", "approval", "operator"] = Field(
        description="What it may do: `read` and `proposal` change nothing, `approval` asks first."
    )
    where: Literal["server", "workstation", "client", "mcp"] = Field(description="Where it runs.")
    channels: list[str] = Field(description="Where it is offered.")


class ToolList(BaseModel):
    items: list[ToolOut]


@routes.get("/api/tools", scope="read")
async def list_tools(caller: CallerOf) -> ToolList:
    """Every tool that an agent can have."""
    return ToolList(items=[ToolOut.model_validate(tool, from_attributes=True) for tool in known_tools().values()])
