"""What is left of a page. Imports nothing: the child starts with it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Page:
    """`text` is at most as long as was asked for, and `is_cut` if there was more."""

    title: str = ""
    description: str = ""
    site_name: str = ""
    text: str = ""
    is_cut: bool = False
