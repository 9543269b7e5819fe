"""Runs migrations over the connection that `store.migrate` hands in."""

from alembic import context

from store.models import Model

context.configure(connection=context.config.attributes["connection"], target_metadata=Model.metadata)
with context.begin_transaction():
    context.run_migrations()
