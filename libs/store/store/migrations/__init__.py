"""One history for all tables; each step is safe while old code still runs."""
