"""The verbs of `retinue bench`; each imports its room when it is called."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Benchmarks, each against the limit of this very machine.", no_args_is_help=True)

Streams = Annotated[int, typer.Option(help="Streams at once.", min=1)]
Rate = Annotated[float, typer.Option(help="Tokens a second and stream.", min=0.1)]
Json = Annotated[bool, typer.Option("--json", help="The figures as JSON.")]


@app.callback()
def bench() -> None:
    """Keeps every verb a verb of its own."""


@app.command()
def stream(
    streams: Streams = 500,
    rate: Rate = 20.0,
    tokens: Annotated[
        int | None, typer.Option(help="Tokens of each stream; unset: all are open together for 20 s.", min=2)
    ] = None,
    rounds: Annotated[int, typer.Option(help="Rounds of direct, ours, direct.", min=1)] = 3,
    crowd: Annotated[int, typer.Option(help="Streams of a run that only has to complete; 0: none.", min=0)] = 1000,
    crowd_rate: Annotated[float, typer.Option(help="Its tokens a second and stream.", min=0.1)] = 10.0,
    saturation: Annotated[bool, typer.Option(help="Both ways as fast as they go.")] = True,
    unbatched: Annotated[bool, typer.Option(help="A round in which each token is a batch of its own.")] = True,
    litellm: Annotated[
        str | None, typer.Option(metavar="PYTHON", help="Whose litellm is measured beside us; unset: the locked one.")
    ] = None,
    as_json: Json = False,
    keep: Annotated[Path | None, typer.Option(help="Keep the stack's data (and logs) in this new folder.")] = None,
) -> None:
    """What Retinue adds to a model's own stream: a stack of its own, a scripted model, the same load both ways."""
    from cli.bench.library import own_interpreter
    from cli.bench.play import shape
    from cli.bench.stream import Plan, run

    plan = Plan(
        load=shape(streams, rate, tokens),
        rounds=rounds,
        crowd=shape(crowd, crowd_rate, tokens) if crowd else None,
        saturation=saturation,
        unbatched=unbatched,
        litellm=litellm or own_interpreter(),
    )
    raise typer.Exit(0 if run(plan, as_json=as_json, keep=keep) else 1)


@app.command()
def soak(
    minutes: Annotated[float, typer.Option(help="How long.", min=0.2)] = 10.0,
    streams: Streams = 500,
    rate: Rate = 20.0,
    tokens: Annotated[int, typer.Option(help="Tokens of each answer.", min=2)] = 400,
    as_json: Json = False,
) -> None:
    """The same streams for minutes: whether gateway and runners go on holding the same memory."""
    from cli.bench.soak import run

    done = run(streams=streams, rate=rate, tokens=tokens, minutes=minutes, as_json=as_json)
    raise typer.Exit(0 if done else 1)


@app.command()
def history(
    short: Annotated[int, typer.Option(help="Turns of the young conversation.", min=1)] = 10,
    long: Annotated[int, typer.Option(help="Turns of the old one.", min=20)] = 1000,
    as_json: Json = False,
) -> None:
    """Bytes to the browser, on the bus and into Postgres per turn, early and late in a conversation."""
    from cli.bench.history import run

    raise typer.Exit(0 if run(short=short, long=long, as_json=as_json) else 1)


@app.command()
def search(
    messages: Annotated[int, typer.Option(help="Messages to search in.", min=1000)] = 100_000,
    as_json: Json = False,
) -> None:
    """How long a search takes: words that are everywhere, nowhere, rare, or were last said long ago."""
    from cli.bench.search import run

    raise typer.Exit(0 if run(count=messages, as_json=as_json) else 1)


@app.command()
def crash(
    minutes: Annotated[float, typer.Option(help="How long faults are played.", min=0.2)] = 5.0,
    seed: Annotated[int, typer.Option(help="What the faults and the load are drawn from.")] = 1,
    streams: Annotated[int, typer.Option(help="Conversations at once.", min=1)] = 16,
    as_json: Json = False,
    keep: Annotated[Path | None, typer.Option(help="Keep the stack's data (and logs) in this new folder.")] = None,
) -> None:
    """Kill everything again and again, under load, and look from the outside whether every promise held."""
    from cli.bench.crash.run import Wanted, run

    report = run(Wanted(minutes=minutes, seed=seed, streams=streams, as_json=as_json, keep=keep))
    raise typer.Exit(0 if report.has_passed else 1)
