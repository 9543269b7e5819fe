"""`retinue bench …`: measuring, and the client that measurements and crash tests watch with."""

from cli.bench.commands import app

__all__ = ["app"]
