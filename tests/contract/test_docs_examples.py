"""What the pages tell people to type, works: Python blocks marked `run`, and every `retinue …` and `make …` line.

Commands are not carried out; each must be one that exists, with options that it takes.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from cli.main import build

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "AGENTS.md", *sorted(ROOT.glob("docs/**/*.md")), *ROOT.glob("tests/**/*.md")]
PAGES = [page for page in PAGES if "node_modules" not in page.parts]
FENCE = re.compile(r"^(?P<indent> *)```(?P<kind>[^\n]*)\n(?P<text>.*?)^(?P=indent)```", re.M | re.S)
SHELL = {"sh", "bash", "shell", "console"}


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    """Kind and text of each fenced block, without the page's indentation."""
    for found in FENCE.finditer(page.read_text()):
        indent = found["indent"]
        lines = (line.removeprefix(indent) for line in found["text"].splitlines())
        yield found["kind"].strip(), "\n".join(lines)


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


RUNNABLE = [
    pytest.param(text, id=f"{named(page)}-{n}")
    for page in PAGES
    for n, (kind, text) in enumerate(blocks(page))
    if kind == "python run"
]


def commands() -> Iterator[tuple[str, str]]:
    """Page and command: lines of shell blocks, and inline code that begins with one of our programs."""
    for page in PAGES:
        for kind, text in blocks(page):
            if kind.split(" ")[0] in SHELL:
                for line in text.replace("\\\n", " ").splitlines():
                    yield named(page), line.removeprefix("$ ").strip()
        for code in re.findall(r"(?<!`)`([^`\n]+)`(?!`)", FENCE.sub("", page.read_text())):
            yield named(page), code.strip()


def starting_with(program: str) -> list[object]:
    wanted = sorted({(page, line) for page, line in commands() if re.match(rf"(\.venv/bin/)?{program} \S", line)})
    return [pytest.param(line, id=f"{page}: {line[:50]}") for page, line in wanted]


def test_there_are_examples_of_each_kind() -> None:
    """Else the tests below would be passed by saying nothing."""
    assert RUNNABLE
    assert all(len(starting_with(program)) > 3 for program in ("retinue", "make", "python -m"))


@pytest.mark.parametrize("text", RUNNABLE)
def test_an_example_runs(text: str) -> None:
    exec(compile(text, "an example", "exec"), {"__name__": "example"})


@cache
def program() -> Any:
    return typer.main.get_command(build([]))


@pytest.mark.parametrize("line", starting_with("retinue"))
def test_a_verb_of_retinue_exists_and_takes_these_options(line: str) -> None:
    words = shlex.split(re.split(r"\s+[#|&>]", line)[0])[1:]
    verb, rest = find(program(), words, line)
    known = {name for parameter in verb.params for name in [*parameter.opts, *parameter.secondary_opts]} | {"--help"}
    given = {word.split("=")[0] for word in rest if re.match(r"--?[a-z]", word)}
    assert given <= known, f"{line}: it takes {sorted(known)}"


def find(group: Any, words: list[str], line: str) -> tuple[Any, list[str]]:
    """The command that the words name; alternatives (`up | down`, `a|b`, `…`) stand for their first."""
    if not hasattr(group, "commands") or not words or words[0].startswith("-"):
        return group, words
    if words[0] in ("…", "...") or words[0].isupper():
        return group, []
    alternatives = words[0].strip("{}").split("|")
    for name in alternatives:
        assert name in group.commands, f"{line}: no {name} in {sorted(group.commands)}"
    return find(group.commands[alternatives[0]], words[1:], line)


@pytest.mark.parametrize("line", starting_with("make"))
def test_a_target_of_make_exists(line: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    words = [word for word in re.split(r"\s+[#|&>]", line)[0].split()[1:] if "=" not in word and word.islower()]
    assert words[0] in targets if words else "=" in line


@pytest.mark.parametrize("line", starting_with("python -m"))
def test_a_module_that_is_to_be_run_exists(line: str) -> None:
    module = line.split(" -m ")[1].split()[0]
    places = [ROOT, *ROOT.glob("libs/*"), *ROOT.glob("services/*")]
    path = module.replace(".", "/")
    ours = any((place / f"{path}.py").exists() or (place / path / "__main__.py").exists() for place in places)
    assert ours or module in ("pytest", "pip", "venv"), f"{module} is not here"
