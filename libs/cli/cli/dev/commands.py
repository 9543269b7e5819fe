"""The verbs of `retinue dev`; each imports its room when it is called."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Tools for developers: a scripted model, and faults to play.", no_args_is_help=True)


@app.command()
def model(
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = 8701,
    host: Annotated[str, typer.Option(help="Address to listen on. It has no authentication: keep it on loopback.")] = (
        "127.0.0.1"
    ),
    script: Annotated[Path | None, typer.Option(help="A script (JSON) to start with.", exists=True)] = None,
    key: Annotated[str, typer.Option(help="Accept only this API key; by default any, or none.")] = "",
    keep: Annotated[int, typer.Option(help="How many requests to remember.", min=1)] = 2000,
    while_stdin: Annotated[bool, typer.Option(help="End when standard input closes.", hidden=True)] = False,
) -> None:
    """Serve a scripted model on the OpenAI chat-completions wire."""
    from cli.dev.model.process import run

    run(host=host, port=port, script=script, key=key, keep=keep, while_stdin=while_stdin)


@app.command()
def hold(
    server: Annotated[str, typer.Argument(help="The server, as `retinue ps` names it: nats, postgres, valkey.")],
    seconds: Annotated[float, typer.Argument(help="How long it stays away.", min=0.1)],
    data_dir: Annotated[
        Path | None, typer.Option(envvar="RETINUE_DATA_DIR", help="Data folder of the running system.")
    ] = None,
) -> None:
    """Stop a server of the running system and let it rest; the supervisor starts it again after that time."""
    from cli.up import control
    from cli.up.folder import named_root

    control.hold(named_root(data_dir), server, seconds)
    typer.echo(f"{server} rested {seconds:g} s and is ready again.")
