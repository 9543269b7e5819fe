"""`python -m cli.dev`: the developer's tools without the rest of the command line; tests start them so."""

import sys

from cli.dev.commands import app
from cli.up.refusal import Refused

try:
    app()
except Refused as refusal:
    print(f"retinue dev: {refusal}", file=sys.stderr)
    sys.exit(1)
