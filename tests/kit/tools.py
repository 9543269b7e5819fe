"""For whom a tool runs in a unit test."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from turn_runner.tools import ToolContext

_NOBODY = UUID(int=0)


def context(web: Any = None, user_settings: Mapping[str, Any] | None = None, **settings: Any) -> ToolContext:
    """A context of nobody's, with only these of the runner's settings."""
    own: Any = SimpleNamespace(**settings)
    return ToolContext(_NOBODY, _NOBODY, _NOBODY, own, web, user_settings or {})
