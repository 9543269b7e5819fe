"""The models that a user may choose from, and what answers where nothing is chosen."""

from __future__ import annotations

from datetime import UTC, datetime

from pydantic import BaseModel, Field

from contracts import rpc
from contracts.subjects import RPC_MODELS
from gateway.http import Routes
from gateway.parts import CallerOf, PartsOf
from gateway.questions import ask

routes = Routes("models")


class ModelOut(BaseModel):
    id: str
    provider: str
    name: str
    context: int | None = Field(description="Tokens that go in; null: unknown.")
    max_output: int | None
    images: bool
    tools: bool
    reasoning: bool
    efforts: list[str]
    hosted_search: bool = Field(description="Its provider can search the web for it.")
    input_price: int | None = Field(description="Millionths of a dollar per million tokens; null: unknown.")
    cached_price: int | None
    output_price: int | None
    source: str = Field(description="Who says so: `provider`, `litellm`, `curated` or `none`.")


class ModelProviderOut(BaseModel):
    name: str
    kind: str
    error: str | None = Field(description="Why its list is old or missing, in a sentence.")
    fetched_at: datetime | None


class RoleOut(BaseModel):
    model: str
    source: str


class ModelsOut(BaseModel):
    items: list[ModelOut]
    default: str = Field(description="What answers you where thread and agent name no model.")
    default_source: str = Field(description="`override`, `user`, `deployment` or `default`.")
    default_error: str | None = Field(description="Why that cannot answer, in a sentence.")
    override: str | None = Field(description="RETINUE_MODEL_OVERRIDE: it answers whatever was chosen.")
    roles: dict[str, RoleOut | None] = Field(description="Who does other work; null: nobody, and its feature is off.")
    providers: list[ModelProviderOut]


@routes.get("/api/models", scope="read")
async def list_models(caller: CallerOf, parts: PartsOf) -> ModelsOut:
    """What your providers list now (or listed when they last answered), with what is known of each model."""
    found = await ask(RPC_MODELS, parts, caller.user_id, rpc.ModelsWish(), rpc.Models)
    return ModelsOut(
        items=[ModelOut.model_validate(each, from_attributes=True) for each in found.items],
        default=found.default,
        default_source=found.default_source,
        default_error=found.default_error,
        override=found.override,
        roles={
            role: None if choice is None else RoleOut(model=choice.model, source=choice.source)
            for role, choice in found.roles.items()
        },
        providers=[
            ModelProviderOut(name=each.name, kind=each.kind, error=each.error, fetched_at=_moment(each.fetched_at))
            for each in found.providers
        ],
    )


def _moment(at: float | None) -> datetime | None:
    return None if at is None else datetime.fromtimestamp(at, UTC)
