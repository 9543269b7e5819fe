"""Hints for open pages: what changed, so that they look again.

`hub` listens on the bus, once for each user with open pages; `listener` keeps one connection's place, `notes` writes
what it is sent, `response` is its socket.
"""
