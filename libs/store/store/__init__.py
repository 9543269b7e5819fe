"""Postgres: models, the door, the outbox, roles, row-level security, migrations."""

from store.store import Session, Store, StoreAway

__all__ = ["Session", "Store", "StoreAway"]
