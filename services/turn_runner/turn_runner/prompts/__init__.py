"""Instructions for models, one file a block, named by purpose. Loaded, never pasted into code."""

from functools import cache
from importlib.resources import files


@cache
def prompt(name: str) -> str:
    return files(__name__).joinpath(f"{name}.md").read_text(encoding="utf-8").strip()
