"""Whether the model that answers by default can be asked, as far as settings tell: said at the start, not by a turn.

Run as a program it prints what is wrong, if anything is: the supervisor asks so, because it stays small without `llm`.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Mapping

# Without these there is nothing to get wrong: a key alone means OpenAI's default, nothing at all the demo.
NAMED = ("RETINUE_MODEL", "OPENAI_BASE_URL", "OLLAMA_BASE_URL")


def fault_of(environment: Mapping[str, str]) -> str | None:
    """What keeps the default model from being asked, in words; none if nothing is known to."""
    from llm import Models, ModelSettings, NotConfigured

    named = environment.get("RETINUE_MODEL", "")
    if "~" in (named[:1], named.partition("/")[2][:1]):
        return None  # an alias: what it means is known when the provider has listed its models
    try:
        Models(ModelSettings.from_environment(environment)).resolve()
    except NotConfigured as wrong:
        hope = ", unless a provider of that name is saved in the page" if named else ""
        return f"the default model (RETINUE_MODEL) cannot be asked: {wrong}{hope}"
    return None


def said_of_default(environment: Mapping[str, str]) -> str:
    """Who answers where nobody has chosen, as far as settings tell: a provider's own list says which of its models."""
    from llm import Models, ModelSettings

    models = Models(ModelSettings.from_environment(environment))
    if models.settings.default_model or not models.providers:
        return f"{models.default_id()} answers by default"
    return f"a model of {models.providers[0].name} answers by default; the page says which"


async def warning() -> str | None:
    """The same of this process's environment, found out by a process of its own."""
    if not any(os.environ.get(name) for name in NAMED):
        return None
    command = [sys.executable, "-P", "-m", "cli.up.model_check"]
    asked = await asyncio.to_thread(
        subprocess.run, command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, cwd="/", check=False
    )
    return asked.stdout.strip() or None


if __name__ == "__main__":
    print(fault_of(os.environ) or "")
