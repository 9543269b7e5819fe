"""The `retinue` command: one file per group of verbs, imported only when it is used."""

import sys
from importlib import import_module

import typer

from cli.up.refusal import Refused
from cli.up.verb_group import register

# Groups that bring heavy imports: their modules expose `app`, and are loaded when named or when help is asked for.
GROUPS = {
    "user": "cli.accounts.user",
    "token": "cli.accounts.token",
    "invite": "cli.accounts.invite",
    "config": "cli.config",
    "keys": "cli.keys",
    "dead": "cli.dead",
    "dev": "cli.dev",
    "bench": "cli.bench",
}


def build(arguments: list[str]) -> typer.Typer:
    """The command with the groups that these arguments need."""
    app = typer.Typer(
        name="retinue",
        help="Retinue: assistants that keep working, on your own machine.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    register(app)
    first = next((argument for argument in arguments if not argument.startswith("-")), None)
    for name, module in GROUPS.items():
        if first in (None, name) and (group := getattr(import_module(module), "app", None)):
            app.add_typer(group, name=name)
    return app


def main() -> None:
    """Run a verb; what cannot be done is said in one sentence, with exit code 1."""
    try:
        build(sys.argv[1:])()
    except Refused as error:
        print(f"retinue: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
