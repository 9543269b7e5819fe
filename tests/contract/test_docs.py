"""The documents hold: every dependency has its reason, every link its file."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MEMBERS = [
    ROOT / "pyproject.toml",
    *sorted(ROOT.glob("libs/*/pyproject.toml")),
    *ROOT.glob("services/*/pyproject.toml"),
]
PAGES = [page for page in ROOT.glob("**/*.md") if not {"node_modules", ".venv", ".tools"} & set(page.parts)]


def dependencies():
    """Every direct dependency of every member, without versions and markers."""
    for member in MEMBERS:
        told = tomllib.loads(member.read_text())
        groups = told.get("dependency-groups", {}).values()
        for wanted in [*told["project"]["dependencies"], *(item for group in groups for item in group)]:
            name = re.match(r"[\w-]+", wanted).group()
            if not name.startswith("retinue-"):
                yield name


@pytest.mark.parametrize("name", sorted(set(dependencies())))
def test_every_dependency_has_a_reason(name):
    lines = (ROOT / "docs/dependencies.md").read_text().splitlines()
    assert any(re.search(rf"`{name}(\[[\w,]+\])?`.*: \S", line) for line in lines), f"{name} has no line"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page):
    links = re.findall(r"(?<!!)\[[^\]]+\]\(([^)#\s]+)[^)]*\)", page.read_text())
    broken = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert not broken
