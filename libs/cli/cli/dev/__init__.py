"""`retinue dev …`: tools for those who build Retinue, or build on it."""

from cli.dev.commands import app

__all__ = ["app"]
