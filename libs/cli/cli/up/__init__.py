"""The embedded stack: servers and services of one machine, started, watched and ended by one supervisor."""
