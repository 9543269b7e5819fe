"""The verbs of the embedded stack: up, down, restart, ps, status, logs, doctor, migrate."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

DataDir = Annotated[Path | None, typer.Option("--data-dir", help="Data folder (RETINUE_DATA_DIR).", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON, for scripts.")]


def register(app: typer.Typer) -> None:
    for verb in (up, down, restart, ps, status, logs, doctor, migrate):
        app.command()(verb)


def up(
    data_dir: DataDir = None,
    port: Annotated[int | None, typer.Option(help="Public port (RETINUE_PORT).", show_default=False)] = None,
    host: Annotated[str | None, typer.Option(help="Public address (RETINUE_HOST).", show_default=False)] = None,
    detach: Annotated[bool, typer.Option("--detach", "-d", help="Run in the background.")] = False,
    servers_only: Annotated[bool, typer.Option(help="Servers and migration, no services.", hidden=True)] = False,
    while_stdin: Annotated[bool, typer.Option(help="End when stdin closes.", hidden=True)] = False,
    notify: Annotated[int | None, typer.Option(help="Pipe that progress is written to.", hidden=True)] = None,
) -> None:
    """Start everything, and show the one address to open."""
    from cli.up import launch
    from cli.up.report import Report
    from cli.up.settings import load_settings

    settings = load_settings(data_dir=data_dir, port=port, host=host)
    if detach:
        launch.run_detached(settings)
    else:
        launch.run_foreground(settings, Report(notify), servers_only=servers_only, while_stdin=while_stdin)


def down(data_dir: DataDir = None) -> None:
    """Stop everything, in order."""
    from cli.up import control
    from cli.up.folder import named_root

    control.down(named_root(data_dir))
    print("Retinue has stopped.")


def restart(
    names: Annotated[list[str] | None, typer.Argument(help="Names of `retinue ps`; all services without.")] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Restart services one after the other, each new process before the old one leaves."""
    from cli.up import control
    from cli.up.folder import named_root

    def tell(sentence: str) -> None:
        print(sentence, file=sys.stderr if as_json else sys.stdout, flush=True)

    restarted = control.restart(named_root(data_dir), names or [], tell)
    if as_json:
        _print_json(restarted)


def ps(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the processes: name, kind, pid, ports, readiness."""
    from cli.up import control
    from cli.up.folder import named_root

    processes = control.ps(named_root(data_dir))
    if as_json:
        return _print_json([{key: row[key] for key in ("name", "kind", "pid", "ports", "ready")} for row in processes])
    _print_table(processes)


def status(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Show the address, the uptime, and how often each process was started again."""
    from cli.up import control
    from cli.up.folder import named_root

    answer = control.status(named_root(data_dir))
    if as_json:
        return _print_json(answer)
    print(f"Retinue: {answer['url'] or 'no services'}")
    if answer.get("warning"):
        print(f"Warning: {answer['warning']}.")
    print(f"up for {_duration(answer['uptime_seconds'])}, data in {answer['data_dir']} ({answer['free_mb']} MiB free)")
    _print_table(answer["processes"])


def logs(
    name: Annotated[str | None, typer.Argument(help="One process; all without it.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with new lines.")] = False,
    lines: Annotated[int, typer.Option("--lines", "-n", help="Lines to begin with.")] = 50,
    data_dir: DataDir = None,
) -> None:
    """Show what the processes wrote."""
    from cli.up.folder import DataFolder, named_root
    from cli.up.logs import show

    show(DataFolder(named_root(data_dir)), name, lines, follow)


def doctor(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Check this machine, the data folder and the running stack; exit code 1 if something is wrong."""
    from cli.up.doctor import examine
    from cli.up.folder import named_root
    from cli.up.settings import load_settings

    findings = examine(named_root(data_dir), load_settings(data_dir=data_dir))
    if as_json:
        _print_json([finding.as_dict() for finding in findings])
    else:
        for finding in findings:
            print(finding.as_line())
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)


def migrate(data_dir: DataDir = None) -> None:
    """Bring tables, roles and streams of the running servers up to date (`up` does it by itself)."""
    import asyncio

    from cli.up.folder import named_root
    from cli.up.migration import migrate as run
    from cli.up.running import orders_of

    asyncio.run(run(orders_of(named_root(data_dir))))
    print("Tables and streams are up to date.")


def _print_json(content: Any) -> None:
    print(json.dumps(content, indent=2))


def _print_table(processes: list[dict[str, Any]]) -> None:
    head = ("NAME", "KIND", "PID", "PORTS", "STATE", "RESTARTS")
    rows = [
        (
            row["name"],
            row["kind"],
            str(row["pid"] or "-"),
            ",".join(map(str, row["ports"])),
            row["state"] if row["ready"] or row["state"] != "ready" else "not answering",
            str(row["restarts"]),
        )
        for row in processes
    ]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in (head, *rows):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
