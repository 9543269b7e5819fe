"""Queries across users: sweeps, outbox, retention, admin. Nothing else uses the second login."""
