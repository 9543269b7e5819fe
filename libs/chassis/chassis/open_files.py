"""As many open files as the system lets us have: a stream is a socket, on both sides of a service."""

from __future__ import annotations

import sys

_ENOUGH = 65_536


def allow_many() -> int:
    """Raises the soft limit of open files to the hard one; returns what it is then (0 where there is no such limit).

    The usual 1,024 is for programs that use `select`; a gateway with a thousand streams would run out.
    """
    if sys.platform == "win32":
        return 0
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _ENOUGH if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return soft
