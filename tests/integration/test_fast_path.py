"""A turn of a provider with a wire of our own: the runner's process never loads the general library."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.kit.runner import Door

HEAVY = ("/litellm/", "/tiktoken/")
"""Folders of compiled modules that litellm's import maps into a process; its own tests hold that it does."""


async def test_a_turn_on_the_fast_path_loads_no_litellm(door: Door, runner: subprocess.Popen[bytes]) -> None:
    accepted = await door.say(await door.thread(), 'a sum [[tool=calculator:{"expression":"1+1"}]] [[text="Two."]]')
    told = await door.hear(accepted.turn_id)
    assert told.message["parts"][-1]["text"].strip() == "Two."
    mapped = mapped_into(runner.pid)
    assert "/orjson/" in mapped
    assert [folder for folder in HEAVY if folder in mapped] == []


def mapped_into(pid: int) -> str:
    return Path(f"/proc/{pid}/maps").read_text()
