"""Questions that one service asks another: request and reply with a deadline and a user, over core NATS.

The gateway calls no model and no provider, so it asks a turn-runner. The callee believes nothing but the user's id
and looks up for itself what that user may do. Secrets travel sealed.
"""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

T = TypeVar("T", bound=BaseModel)

TEST_KEY_CONTEXT = "key-test/{user_id}"
"""What a key that is only tried out is sealed for."""


class Part(BaseModel):
    """Base of what is asked and answered."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Ask(Part, Generic[T]):
    """The envelope of a question. `deadline` in seconds since 1970: nobody waits for an answer after it."""

    id: UUID
    user_id: UUID
    deadline: float
    body: T


class Answer(Part):
    """One answer, or one of several; the last one has `is_last`. Either a body, or an error that the asker shows."""

    is_last: bool = True
    body: dict[str, Any] | None = None
    status: int = 200
    """Of an error, as HTTP means it."""
    error: str | None = None
    message: str | None = None


class ModelsWish(Part):
    """What may this user choose from?"""


class ModelEntry(Part):
    """A model of a provider, with what is known of it. Prices in millionths of a dollar per million tokens."""

    id: str
    name: str
    provider: str
    context: int | None = None
    max_output: int | None = None
    images: bool = False
    tools: bool = False
    reasoning: bool = False
    efforts: tuple[str, ...] = ()
    hosted_search: bool = False
    input_price: int | None = None
    cached_price: int | None = None
    output_price: int | None = None
    source: str = "none"


class ProviderState(Part):
    """A provider as the runner sees it. `models`: how many it lists; None where it could not be asked."""

    name: str
    kind: str
    base_url: str | None = None
    is_own: bool = False
    source: Literal["environment", "saved"]
    id: UUID | None = None
    key_hint: str | None = None
    models: int | None = None
    error: str | None = None
    fetched_at: float | None = None


class RoleChoice(Part):
    """Which model does a role's work, and who said so."""

    model: str
    source: str


class Models(Part):
    items: tuple[ModelEntry, ...]
    providers: tuple[ProviderState, ...]
    default: str
    default_source: str
    default_error: str | None = None
    """Why nothing would answer by default, in a sentence."""
    override: str | None = None
    roles: dict[str, RoleChoice | None] = Field(default_factory=dict)


class ProvidersWish(Part):
    """Which providers serve this user, and do they list their models? Asked without waiting for slow ones."""


class Providers(Part):
    items: tuple[ProviderState, ...]


class KeyTestWish(Part):
    """Does this key work? A provider that is saved, or what would be, with its key sealed for the user's key tests."""

    provider_id: UUID | None = None
    kind: str = ""
    base_url: str = ""
    sealed_key: str = ""
    """Base64; empty for none."""


class KeyTested(Part):
    ok: bool
    models: tuple[str, ...] = ()
    error: str | None = None
    took_ms: int


class FoundWish(Part):
    """Which local servers answer, and are no providers yet?"""


class FoundServer(Part):
    kind: str
    base_url: str
    title: str
    models: tuple[str, ...]


class Found(Part):
    items: tuple[FoundServer, ...]


class PullWish(Part):
    """Fetch a model into an Ollama; answered by progress until it is there."""

    provider: str
    model: str


class PullProgress(Part):
    """`completed` and `total` in bytes of the layer that is being fetched."""

    status: str
    completed: int | None = None
    total: int | None = None
    error: str | None = None


class SettingsWish(Part):
    """The effective settings of a service, and what would be wrong with these new values (None: none saved); those of
    secrets are masked."""

    changes: dict[str, Any] = Field(default_factory=dict)


class SettingsTable(Part):
    """`rows` as `chassis.settings.Row.as_dict` makes them; `wrong`: a sentence for each change that does not fit."""

    rows: list[dict[str, Any]]
    wrong: dict[str, str] = Field(default_factory=dict)
