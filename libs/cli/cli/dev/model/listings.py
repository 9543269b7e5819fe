"""What models there are, in the words of each provider; and Ollama's fetching of one, with its progress."""

import hashlib
import json
from collections.abc import AsyncIterator
from typing import Any

from cli.dev.model.script import Script

CONTEXT = 32_768  # tokens, where the script says nothing else


class Shelf:
    """The models of the script, and those that were pulled since it was loaded."""

    def __init__(self) -> None:
        self.pulled: list[str] = []

    def names(self, script: Script) -> list[str]:
        return list(dict.fromkeys([*script.models, *self.pulled]))

    def openai(self, script: Script) -> dict[str, Any]:
        """OpenAI's form; whatever the script says of a model is added, in OpenRouter's words for instance."""
        common = {"object": "model", "created": 0, "owned_by": "scripted"}
        models = [{"id": name, **common, **script.facts.get(name, {})} for name in self.names(script)]
        return {"object": "list", "data": models}

    def anthropic(self, script: Script) -> dict[str, Any]:
        names = self.names(script)
        common = {"type": "model", "created_at": "2026-01-01T00:00:00Z"}
        models = [{"id": name, "display_name": name, **common, **script.facts.get(name, {})} for name in names]
        return {
            "data": models,
            "has_more": False,
            "first_id": names[0] if names else None,
            "last_id": names[-1] if names else None,
        }

    def gemini(self, script: Script) -> dict[str, Any]:
        common = {"supportedGenerationMethods": ["generateContent", "countTokens"], "outputTokenLimit": 8192}
        return {
            "models": [
                {
                    "name": f"models/{name}",
                    "displayName": name,
                    "inputTokenLimit": CONTEXT,
                    **common,
                    **{key: value for key, value in script.facts.get(name, {}).items() if key != "id"},
                }
                for name in self.names(script)
            ]
        }

    def ollama_tags(self, script: Script) -> dict[str, Any]:
        return {
            "models": [
                {
                    "name": name,
                    "model": name,
                    "modified_at": "2026-01-01T00:00:00Z",
                    "size": 1_000_000_000,
                    "digest": _digest(name),
                    "details": _details(),
                }
                for name in self.names(script)
            ]
        }

    def ollama_show(self, script: Script, name: str) -> dict[str, Any] | None:
        """None for a model that is not there. The script may say `context_length` and `capabilities`."""
        if name not in self.names(script):
            return None
        facts = script.facts.get(name, {})
        info = {"general.architecture": "scripted", "scripted.context_length": facts.get("context_length", CONTEXT)}
        return {"details": _details(), "model_info": info, "capabilities": capabilities(script, name)}

    async def pull(self, script: Script, name: str) -> AsyncIterator[tuple[float, bytes]]:
        """The lines of the progress, each with the seconds to wait before it."""
        plan = script.pulls.get(name, {})
        size, steps, rate = int(plan.get("bytes", 1_000_000)), int(plan.get("steps", 5)), float(plan.get("rate", 0))
        yield 0, _line({"status": "pulling manifest"})
        if plan.get("error"):
            yield 0, _line({"error": str(plan["error"])})
            return
        layer = {"status": f"pulling {_digest(name)[:12]}", "digest": f"sha256:{_digest(name)}", "total": size}
        for step in range(steps + 1):
            done = size * step // steps
            yield (1 / rate if rate else 0), _line({**layer, "completed": done} if done else layer)
        for status in ("verifying sha256 digest", "writing manifest", "success"):
            if status == "success" and name not in self.pulled:
                self.pulled.append(name)
            yield 0, _line({"status": status})


def capabilities(script: Script, name: str) -> list[str]:
    """What one of Ollama's models can do; all that a conversation needs, where the script says nothing else."""
    return list(script.facts.get(name, {}).get("capabilities", ("completion", "tools", "thinking")))


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def _details() -> dict[str, Any]:
    return {
        "format": "gguf",
        "family": "scripted",
        "families": ["scripted"],
        "parameter_size": "1B",
        "quantization_level": "Q4_K_M",
    }


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"
