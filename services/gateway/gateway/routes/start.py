"""What the first page asks: is there a model, and if not, what is near."""

from __future__ import annotations

from pydantic import BaseModel, Field

from contracts import rpc
from contracts.subjects import RPC_FOUND, RPC_MODELS
from gateway.http import Routes
from gateway.parts import CallerOf, PartsOf
from gateway.questions import ask
from gateway.routes.providers import FoundOut, may_administrate

routes = Routes("start")

DEMO = "demo/"


class StartOut(BaseModel):
    is_admin: bool
    has_model: bool = Field(description="Something other than the demo answers you.")
    is_demo: bool = Field(description="The built-in stand-in answers you.")
    default: str
    found: list[FoundOut] = Field(description="Local servers that answer and are no providers yet; for admins.")
    providers: int


@routes.get("/api/start", scope="read")
async def start(caller: CallerOf, parts: PartsOf) -> StartOut:
    """Where you stand on the way to a working model."""
    models = await ask(RPC_MODELS, parts, caller.user_id, rpc.ModelsWish(), rpc.Models)
    is_demo = models.default.startswith(DEMO)
    found: list[FoundOut] = []
    if may_administrate(caller):
        servers = await ask(RPC_FOUND, parts, caller.user_id, rpc.FoundWish(), rpc.Found)
        found = [FoundOut.model_validate(each, from_attributes=True) for each in servers.items]
    return StartOut(
        is_admin=may_administrate(caller),
        has_model=not is_demo and models.default_error is None,
        is_demo=is_demo,
        default=models.default,
        found=found,
        providers=len(models.providers),
    )
