"""What a model's name says: family, version, and whether it is a snapshot or a preview; and aliases made of families.

The family is the name without its numbers: `gpt-5.4-mini-2026-03-17` is of `gpt-mini`, `claude-3-5-sonnet-20241022`
and `claude-sonnet-5` of `claude-sonnet`, `o3` of `o`, `qwen3:8b` of `qwen-8b`. Sizes and words (`70b`, `4o`, `free`)
belong to the family. `~claude-sonnet-latest` is the newest of its family: the highest version; of the same version
the finished one rather than a preview, and the moving name rather than a dated snapshot.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

DATE = re.compile(r"[-@]20\d\d-?[01]\d-?[0-3]\d\b|-\d{3,4}$")
NUMBER = re.compile(r"\d+(?:\.\d+)*")
WORD_AND_NUMBER = re.compile(r"([a-z]+)(\d+(?:\.\d+)*)")
EARLY = frozenset({"preview", "exp", "experimental", "beta", "alpha", "rc"})
ALIAS = re.compile(r"~(?:(?P<maker>[\w.-]+)/)?(?P<family>[\w.:-]+)-latest", re.I)
MOST_NAMED = 8


@dataclass(frozen=True, slots=True)
class Name:
    """A name taken apart. `maker` is what stands before a slash (`openai/gpt-5` at a reseller), `date` 0 for none."""

    whole: str
    maker: str
    family: str
    version: tuple[int, ...]
    date: int
    is_early: bool
    is_pointer: bool

    @property
    def rank(self) -> tuple[bool, tuple[int, ...], bool, bool, int, int]:
        """The larger, the newer."""
        return not self.is_pointer, self.version, not self.is_early, not self.date, self.date, -len(self.whole)


@dataclass(frozen=True, slots=True)
class Alias:
    """`~family-latest`, `~maker/family-latest`, either behind `provider/`; `provider` empty means whichever has it."""

    provider: str
    maker: str
    family: str


def read(name: str) -> Name:
    """Take a model's name (without the provider) apart."""
    maker, _, own = name.lower().rpartition("/")
    undated = DATE.sub("", own)
    words: list[str] = []
    version: list[int] = []
    is_early = is_pointer = False
    for position, piece in enumerate(piece for piece in re.split(r"[-:_\s]", undated) if piece):
        if piece in EARLY:
            is_early = True
        elif piece == "latest":
            is_pointer = True
        elif NUMBER.fullmatch(piece):
            # Behind "preview" a number is a date.
            if not is_early:
                version += [int(part) for part in piece.split(".")]
        elif position == 0 and (parts := WORD_AND_NUMBER.fullmatch(piece)):
            words.append(parts[1])
            version += [int(part) for part in parts[2].split(".")]
        else:
            words.append(piece)
    date = "".join(re.findall(r"\d", "".join(DATE.findall(own))))
    return Name(name, maker, "-".join(words), tuple(version), int(date or 0), is_early, is_pointer)


def alias(model_id: str) -> Alias | None:
    """The alias that this id is; None for a plain id."""
    provider, tilde, rest = model_id.partition("~")
    if not tilde or (provider and not provider.endswith("/")):
        return None
    found = ALIAS.fullmatch(tilde + rest)
    if not found:
        return None
    return Alias(provider.rstrip("/"), (found["maker"] or "").lower(), found["family"].lower().replace(":", "-"))


def newest(wanted: Alias, names: Iterable[str]) -> str | None:
    """The newest of these names that belongs to the family."""
    of_family = [name for name in map(read, names) if belongs(name, wanted)]
    return max(of_family, key=lambda name: name.rank).whole if of_family else None


def belongs(name: Name, wanted: Alias) -> bool:
    """Whether this is a model of the family (resellers list their own aliases as models: those are not)."""
    is_maker = not wanted.maker or name.maker == wanted.maker
    return name.family == wanted.family and is_maker and not name.whole.startswith("~")


def listed_as(name: str, names: Iterable[str]) -> str | None:
    """This name, or the newest snapshot of it, among these; the name itself where there are none at all."""
    names = list(names)
    if name in names or not names:
        return name
    wanted = read(name)
    same = [other for other in map(read, names) if (other.family, other.version) == (wanted.family, wanted.version)]
    return max(same, key=lambda other: other.rank).whole if same else None


def families_like(wanted: str, names: Iterable[str]) -> list[str]:
    """The families of these names that are most like the wanted word, for people who mistyped one."""
    found = sorted({read(name).family for name in names if not name.startswith("~")} - {""})
    return get_close_matches(wanted, found, n=MOST_NAMED, cutoff=0.3)
