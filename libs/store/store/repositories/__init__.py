"""Queries by noun, always as a user; nobody else writes select()."""
