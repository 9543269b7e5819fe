"""Agents grown up: effort, fallbacks, capabilities, glyph; what the model saw."""

from __future__ import annotations

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    pass


def downgrade() -> None:
    raise RuntimeError("migrations only go forward; restore a backup instead")
