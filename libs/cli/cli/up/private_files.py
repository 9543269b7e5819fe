"""Files that only their owner may read, replaced whole or not at all."""

import json
import os
from pathlib import Path
from typing import Any

from cli.up.refusal import Refused


def write_private(path: Path, content: bytes) -> None:
    """Replace `path` by `content` with mode 0600; a crash leaves either the old file or the new one."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def write_private_json(path: Path, content: Any) -> None:
    write_private(path, json.dumps(content, indent=2).encode() + b"\n")


def read_json(path: Path) -> Any | None:
    """The parsed file, or None where there is none. Raises Refused if it is damaged."""
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError as damaged:
        raise Refused(f"The file {path} is damaged ({damaged}): bring it back from a backup.") from damaged
