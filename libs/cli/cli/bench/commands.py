"""The verbs of `retinue bench`; each imports its room when it is called."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Benchmarks, each against the limit of this very machine.", no_args_is_help=True)


@app.callback()
def bench() -> None:
    """Keeps `stream` a verb of its own while it is the only one."""


@app.command()
def stream(
    streams: Annotated[int, typer.Option(help="Streams at once.", min=1)] = 200,
    rate: Annotated[float, typer.Option(help="Tokens a second and stream.", min=0.1)] = 20.0,
    tokens: Annotated[int, typer.Option(help="Tokens of each stream.", min=2)] = 400,
    rounds: Annotated[int, typer.Option(help="Rounds of direct, ours, direct.", min=1)] = 3,
    crowd: Annotated[int, typer.Option(help="Streams of the last run, which only has to complete; 0: none.")] = 500,
    as_json: Annotated[bool, typer.Option("--json", help="The figures as JSON.")] = False,
    keep: Annotated[Path | None, typer.Option(help="Keep the stack's data (and logs) in this new folder.")] = None,
) -> None:
    """What Retinue adds to a model's own stream: a stack of its own, a scripted model, the same load both ways."""
    from cli.bench.stream import Plan, run

    plan = Plan(streams=streams, rate=rate, tokens=tokens, rounds=rounds, crowd=crowd)
    raise typer.Exit(0 if run(plan, as_json=as_json, keep=keep) else 1)
