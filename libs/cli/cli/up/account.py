"""The unprivileged user that Postgres runs as when the stack is started by root."""

import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli.up.refusal import Refused


@dataclass(frozen=True)
class Account:
    """A system user."""

    name: str
    uid: int
    gid: int

    def spawn_options(self) -> dict[str, Any]:
        """The arguments of subprocess that make a child this user."""
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def can_enter(self, folder: Path) -> bool:
        """Whether this user may use `folder`; asked by trying, because modes do not tell of ACLs and mounts."""
        return self._succeeds('cd -- "$1"', folder)

    def can_run(self, file: Path) -> bool:
        return self._succeeds('test -r "$1" && test -x "$1"', file)

    def first_closed(self, folder: Path) -> Path:
        """The topmost folder on the way to `folder` that this user may not pass."""
        way = [*reversed(folder.parents), folder]
        return next((step for step in way if not self.can_enter(step)), folder)

    def _succeeds(self, script: str, path: Path) -> bool:
        command = ["/bin/sh", "-c", script, "sh", str(path)]
        answer = subprocess.run(
            command, cwd="/", capture_output=True, check=False, user=self.uid, group=self.gid, extra_groups=[]
        )
        return answer.returncode == 0


def postgres_account() -> Account | None:
    """`postgres` if that user exists, else `nobody`, when we are root; None when we are not."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name, entry.pw_uid, entry.pw_gid)
    raise Refused("Postgres refuses to run as root and neither user 'postgres' nor 'nobody' exists: add one of them.")
