"""Saved settings, and providers of models. Written by the gateway; what is secret of them is sealed."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKey, LargeBinary
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from store.models.base import Model


class DeploymentSetting(Model):
    """One value that an admin saved: plain, or sealed if the setting is a secret."""

    __tablename__ = "deployment_settings"

    name: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[Any] = mapped_column(JSONB(none_as_null=True))
    sealed: Mapped[bytes | None] = mapped_column(LargeBinary)
    updated_at: Mapped[datetime]
    updated_by: Mapped[UUID | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))


class UserSetting(Model):
    """One value that a user chose for themselves."""

    __tablename__ = "user_settings"

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[Any] = mapped_column(JSONB)
    updated_at: Mapped[datetime]


class Provider(Model):
    """Somebody who serves models: the deployment's, or a user's own, which serves that user's turns only."""

    __tablename__ = "providers"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[UUID | None] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    """None: the deployment's."""
    name: Mapped[str]
    """The prefix of its models' ids."""
    kind: Mapped[str]
    base_url: Mapped[str | None]
    """None: the provider's own address."""
    key_sealed: Mapped[bytes | None] = mapped_column(LargeBinary)
    key_hint: Mapped[str | None]
    """The end of the key, for people to tell two apart."""
    position: Mapped[int]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
