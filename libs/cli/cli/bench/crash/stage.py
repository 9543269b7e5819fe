"""What a crash run stands on: a scripted model, a stack with two of each service, and a folder for armed points."""

from __future__ import annotations

import json
import shutil
import tempfile
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cli.bench.ground import scripted_model
from cli.up import postgres
from cli.up.embedded import EmbeddedStack, embedded_stack
from cli.up.program import Ground
from cli.up.running import ground_of

_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass
class Stage:
    """`faults` is where points are armed, and where tools leave their marks."""

    folder: Path
    stack: EmbeddedStack
    model_url: str
    faults: Path
    ground: Ground
    is_kept: bool = field(default=False)
    """Whether the folder stays when all is over: something in it is to be read."""

    @property
    def logs(self) -> Path:
        return self.stack.data_dir / "logs"

    async def rows(self, question: str) -> list[dict[str, Any]] | None:
        """The rows of a query, as the superuser; None while Postgres is away."""
        wrapped = f"select coalesce(json_agg(r), '[]') from ({question}) r"  # noqa: S608 - our own questions
        answer = await postgres.answer(self.ground, wrapped)
        return None if answer is None else json.loads(answer)

    def served(self) -> list[dict[str, Any]]:
        """The calls that the model saw."""
        with _OPENER.open(self.model_url.removesuffix("/v1") + "/served", timeout=60) as answer:
            return json.load(answer)["served"]

    def register(self, name: str) -> str:
        """A token of a new account."""
        account = {"username": name, "password": "only for this crash run"}
        cookie = self._post("/api/auth/register", account, {})[1]
        return self._post("/api/tokens", {"name": "crash"}, {"cookie": cookie})[0]["token"]

    def _post(self, path: str, body: Any, headers: dict[str, str]) -> tuple[Any, str]:
        sent = {"content-type": "application/json", "origin": self.stack.url, **headers}
        request = urllib.request.Request(self.stack.url + path, json.dumps(body).encode(), sent)  # noqa: S310
        with _OPENER.open(request, timeout=30) as answer:
            return json.load(answer), (answer.headers.get("set-cookie") or "").partition(";")[0]


@contextmanager
def staged(keep: Path | None = None) -> Generator[Stage]:
    """Ends with the block. The folder goes too, unless it was named, or `is_kept` is set, or something broke."""
    folder = keep or Path(tempfile.mkdtemp(prefix="retinue-crash-"))
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o711)  # Postgres may run under an account of its own
    faults = folder / "faults"
    faults.mkdir()
    is_kept = True
    try:
        with (
            scripted_model(keep=1_000_000) as model_url,
            embedded_stack(folder / "data", _environment(model_url, faults)) as stack,
        ):
            stage = Stage(folder, stack, model_url, faults, ground_of(stack.data_dir))
            yield stage
            is_kept = stage.is_kept
    finally:
        if keep is None and not is_kept:
            shutil.rmtree(folder, ignore_errors=True)


def _environment(model_url: str, faults: Path) -> dict[str, str]:
    return {
        "OPENAI_BASE_URL": model_url,
        "OPENAI_API_KEY": "",
        "RETINUE_MODEL": "openai/scripted",
        "RETINUE_TITLES": "false",  # one more call for each first answer, of another kind than those that are measured
        "RETINUE_PORT": "0",
        "RETINUE_HOST": "127.0.0.1",
        "RETINUE_PUBLIC_URL": "",
        "RETINUE_REGISTRATION": "open",
        "RETINUE_GATEWAYS": "2",
        "RETINUE_TURN_RUNNERS": "2",
        "RETINUE_FAULTS": str(faults),
    }
