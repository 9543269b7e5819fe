"""What a model is shown of a thread: the active messages with their tool calls, and who answers with what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import text

from store.store import Session


@dataclass(frozen=True, slots=True)
class PastPart:
    step: int
    kind: str
    data: dict[str, Any]
    call: PastCall | None = None


@dataclass(frozen=True, slots=True)
class PastCall:
    id: UUID
    provider_call_id: str
    name: str
    state: str
    input: Any
    output: Any
    error_text: str | None
    is_idempotent: bool = False
    is_hosted: bool = False


@dataclass(frozen=True, slots=True)
class PastMessage:
    id: UUID
    role: str
    parts: list[PastPart] = field(default_factory=list["PastPart"])

    @property
    def said(self) -> str:
        """Its texts, a blank line between two."""
        return "\n\n".join(part.data["text"] for part in self.parts if part.kind == "text")


@dataclass(frozen=True, slots=True)
class PastReasoning:
    """What a model thought, and what its provider wants back of it."""

    text: str
    provider: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class PastStep:
    """One model call of a message: its words, its thoughts, and the calls that we ran for it."""

    text: str
    calls: list[PastCall]
    reasoning: list[PastReasoning]


@dataclass(frozen=True, slots=True)
class AgentProfile:
    """Who answers in a thread, and what its people have chosen for it."""

    id: UUID
    name: str
    role: str
    standing_orders: str
    model: str | None
    max_steps: int
    effort: str | None = None
    fallback_models: tuple[str, ...] = ()
    capabilities: tuple[str, ...] | None = None
    thread_model: str | None = None
    thread_effort: str | None = None
    thread_title: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The user's own, by name."""


_PARTS = """
    select m.id, m.role, p.step, p.kind, p.data, p.call_id, c.provider_call_id, c.name, c.state, c.input, c.output,
        c.error_text, c.is_idempotent, c.is_hosted
    from messages m
    left join message_parts p on p.message_id = m.id
    left join tool_calls c on c.id = p.call_id
"""

_BEFORE = text(
    _PARTS  # noqa: S608 - constants of ours
    + """
    where m.thread_id = :thread and m.ordinal < (select ordinal from messages where id = :message)
    order by m.ordinal, p.ordinal
"""
)

_ONE = text(_PARTS + " where m.id = :message order by p.ordinal")

_PROFILE = text("""
    select a.id, a.name, a.role, a.standing_orders, a.model, a.effort, a.fallback_models, a.capabilities, a.max_steps,
        t.model as thread_model, t.effort as thread_effort, t.title,
        (select json_object_agg(s.name, s.value) from user_settings s where s.user_id = a.user_id) as settings
    from agents a left join threads t on t.id = :thread
    where a.id = :agent
""")


async def before(session: Session, thread_id: UUID, message_id: UUID) -> list[PastMessage]:
    """Everything that stands before the message that a turn writes."""
    return _gathered(await session.execute(_BEFORE, {"thread": thread_id, "message": message_id}))


async def written(session: Session, message_id: UUID) -> PastMessage:
    """What is committed of the message that a turn writes."""
    (message,) = _gathered(await session.execute(_ONE, {"message": message_id}))
    return message


async def profile(session: Session, agent_id: UUID, thread_id: UUID | None) -> AgentProfile | None:
    """None if the agent is not this user's; without a thread, or one of somebody else's, only the agent's choices."""
    row = (await session.execute(_PROFILE, {"agent": agent_id, "thread": thread_id})).one_or_none()
    if row is None:
        return None
    return AgentProfile(
        row.id,
        row.name,
        row.role,
        row.standing_orders,
        row.model,
        row.max_steps,
        effort=row.effort,
        fallback_models=tuple(row.fallback_models),
        capabilities=None if row.capabilities is None else tuple(row.capabilities),
        thread_model=row.thread_model,
        thread_effort=row.thread_effort,
        thread_title=row.title,
        settings=row.settings or {},
    )


def steps_of(message: PastMessage) -> list[PastStep]:
    """A message's model calls, in order. What the provider searched for itself is told by its words alone."""
    return [
        PastStep(
            "".join(part.data["text"] for part in of_step if part.kind == "text"),
            [part.call for part in of_step if part.call is not None and not part.call.is_hosted],
            [kept for part in of_step if (kept := _reasoning(part)) is not None],
        )
        for of_step in _by_step(message)
    ]


def _by_step(message: PastMessage) -> Sequence[Sequence[PastPart]]:
    steps = sorted({part.step for part in message.parts})
    return [[part for part in message.parts if part.step == step] for step in steps]


def _reasoning(part: PastPart) -> PastReasoning | None:
    if part.kind != "reasoning":
        return None
    kept: Any = part.data.get("providerMetadata", {}).get("retinue", {}).get("reasoning")
    if kept is None:
        return None
    return PastReasoning(part.data["text"], kept["provider"], kept["data"])


def _gathered(rows: Iterable[Any]) -> list[PastMessage]:
    found: list[PastMessage] = []
    for row in rows:
        if not found or found[-1].id != row.id:
            found.append(PastMessage(row.id, row.role))
        if row.kind is not None:
            found[-1].parts.append(PastPart(row.step, row.kind, row.data, _call(row)))
    return found


def _call(row: Any) -> PastCall | None:
    if row.call_id is None:
        return None
    return PastCall(
        row.call_id,
        row.provider_call_id,
        row.name,
        row.state,
        row.input,
        row.output,
        row.error_text,
        row.is_idempotent,
        row.is_hosted,
    )
