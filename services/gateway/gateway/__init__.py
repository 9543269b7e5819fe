"""The HTTP edge: accounts, threads, turns, streams, the web UI."""
