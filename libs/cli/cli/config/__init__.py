"""`retinue config`: the effective settings of every service, and those that are saved for the deployment."""

from cli.config.verbs import app

__all__ = ["app"]
