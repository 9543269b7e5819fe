"""The `retinue` command: one file per group of verbs, imported only when it is used."""

import sys

import typer

from cli.up.refusal import Refused
from cli.up.verb_group import register as register_up

app = typer.Typer(
    name="retinue",
    help="Retinue: assistants that keep working, on your own machine.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
register_up(app)


def main() -> None:
    """Run a verb; what cannot be done is said in one sentence, with exit code 1."""
    try:
        app()
    except Refused as error:
        print(f"retinue: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
