"""litellm's own streaming, measured beside ours: in a process of its own, because its import alone is 200 MB."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_SCRIPT = Path(__file__).with_name("litellm_stream.py")
_STREAMS, _TOKENS, _RATE = 10, 200, 20.0
"""Far below its limit: 50 streams fill a core."""

_TIMEOUT = 120.0


def own_interpreter() -> str | None:
    """This interpreter, if litellm is installed beside us."""
    return sys.executable if find_spec("litellm") is not None else None


def measure(python: str, model_url: str) -> dict[str, Any]:
    """What it costs: `import_s`, `memory_mb`, `cpu_us` per token, tokens and streams that arrived."""
    command = [python, "-P", str(_SCRIPT), model_url, str(_STREAMS), str(_TOKENS), str(_RATE)]
    settings = os.environ | {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "NO_PROXY": "*"}
    played = subprocess.run(command, capture_output=True, text=True, check=False, env=settings, timeout=_TIMEOUT)
    if played.returncode:
        raise RuntimeError(f"litellm could not be measured with {python}:\n{played.stderr[-2000:]}")
    return json.loads(played.stdout.splitlines()[-1])


def said_of(found: dict[str, Any]) -> str:
    return (
        f"{found['cpu_us']:.0f} µs CPU a token ({found['tokens']} tokens, {_STREAMS} streams × {_RATE:g}/s), "
        f"import {found['import_s']:.1f} s, {found['memory_mb']:.0f} MB, version {found['version']}"
    )
