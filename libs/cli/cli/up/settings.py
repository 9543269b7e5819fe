"""The supervisor's settings; all are the deployment's, read from the environment."""

from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from chassis.settings import PublicUrl, is_loopback
from cli.up.refusal import Refused

Vault = Literal["file", "openbao", "transit"]


class UpSettings(BaseSettings):
    """Every environment variable that `retinue up` itself reads; services read their own."""

    model_config = SettingsConfigDict(env_prefix="RETINUE_", extra="ignore", env_ignore_empty=True)

    data_dir: Path | None = Field(None, description="Data folder; /var/lib/retinue as root, else the user's own.")
    port: int | None = Field(
        None, ge=0, le=65535, description="Public port; a taken one is refused. Unset: 8700 or the next free one."
    )
    host: str = Field("127.0.0.1", description="Address of the public port; not loopback means production mode.")
    public_url: PublicUrl | None = Field(
        None, description="Address under which people reach it; means production mode."
    )
    web_dist: Path | None = Field(None, description="Folder of the built web page; services/web/dist of the clone.")
    gateways: int = Field(1, ge=1, le=64, description="Gateway processes.")
    turn_runners: int = Field(2, ge=1, le=64, description="Turn-runner processes.")
    min_free_mb: int = Field(512, ge=0, description="Free disk space in MiB below which the stack does not start.")
    grace_seconds: float = Field(5.0, ge=0, description="Seconds that services have to end when the stack stops.")
    drain_grace: float = Field(60.0, ge=0, description="Seconds that a service has to hand over when it is restarted.")
    start_timeout_seconds: float = Field(60.0, gt=0, description="Seconds that each process has to become ready.")
    log_max_mb: int = Field(20, ge=1, description="Size in MiB at which the log of a process is rotated.")
    log_keep: int = Field(3, ge=0, description="Rotated logs that are kept of each process.")
    vault: Vault = Field(
        "file", description="Who keeps the keys that seal secrets: a key file, an embedded OpenBao, a Transit server."
    )
    keys: Path | None = Field(None, description="The key file; unset: `keys` in the configuration folder.")
    nats_store_gb: int = Field(16, ge=4, description="Disk space in GiB that JetStream may use.")
    postgres_connections: int = Field(200, ge=20, description="Connections that Postgres accepts.")
    valkey_memory_mb: int = Field(256, ge=16, description="Memory in MiB that Valkey may use.")

    @property
    def min_free_bytes(self) -> int:
        return self.min_free_mb << 20

    @property
    def production(self) -> bool:
        """Whether people other than this machine's may come: then the first account needs a set-up code."""
        return self.public_url is not None or not is_loopback(self.host)


def load_settings(**overrides: object) -> UpSettings:
    """Settings of the environment, with what the command line names above them; Refused if one is wrong."""
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return UpSettings(**given)  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors()[0]
        reason = first["msg"].removeprefix("Value error, ")
        raise Refused(f"RETINUE_{'_'.join(map(str, first['loc'])).upper()}: {reason}.") from error
