"""`retinue dead`: events that a consumer could not work on, straight in the database."""

from cli.dead.verbs import app

__all__ = ["app"]
