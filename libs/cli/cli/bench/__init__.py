"""Measuring a running Retinue, and the client that measurements and crash tests watch with."""
