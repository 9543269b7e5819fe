"""Readers of the chunk log: from NATS and Postgres out to browsers, as server-sent events.

`follower` decides (no I/O), `log` and `rows` read, `hub` listens once per turn for all its viewers, `viewer` keeps
one connection's place, `response` writes to its socket.
"""
