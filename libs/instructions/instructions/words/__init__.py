"""The words themselves, one file a block, named by purpose. Loaded, never pasted into code."""

from functools import cache
from importlib.resources import files


@cache
def words(name: str) -> str:
    """The text of `NAME.md`, without the line break at its end."""
    return files(__name__).joinpath(f"{name}.md").read_text(encoding="utf-8").strip()


@cache
def words_for(channel: str) -> str:
    """Guidance for a channel; empty for one that needs none."""
    file = files(__name__).joinpath("channels").joinpath(f"{channel}.md")
    return file.read_text(encoding="utf-8").strip() if file.is_file() else ""
