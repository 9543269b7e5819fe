"""Postgres: models, the door, the outbox, roles, row-level security, migrations."""
