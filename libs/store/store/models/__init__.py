"""The tables, one file per noun; each docstring names the one service that writes it."""

from store.models.accounts import ApiToken, Invite, Session, User
from store.models.agents import Agent
from store.models.base import Model
from store.models.blobs import Blob, BlobReference
from store.models.dead_letters import DeadLetter
from store.models.outbox import InboxRow, OutboxRow
from store.models.settings import DeploymentSetting, Provider, UserSetting
from store.models.threads import Message, MessagePart, Thread
from store.models.turns import Attempt, LedgerEntry, Prompt, Runner, ToolCall, Turn

__all__ = [
    "Agent",
    "ApiToken",
    "Attempt",
    "Blob",
    "BlobReference",
    "DeadLetter",
    "DeploymentSetting",
    "InboxRow",
    "Invite",
    "LedgerEntry",
    "Message",
    "MessagePart",
    "Model",
    "OutboxRow",
    "Prompt",
    "Provider",
    "Runner",
    "Session",
    "Thread",
    "ToolCall",
    "Turn",
    "User",
    "UserSetting",
]
