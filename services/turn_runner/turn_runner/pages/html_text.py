"""HTML as text that a model reads well: headings, lists, links with their addresses, the main part where there is one.

Walks the tree with a stack of its own, so that depth costs nothing, and ends once there is enough.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urljoin, urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from turn_runner.pages.page import Page

_DROPPED = frozenset(
    (
        "script", "style", "noscript", "nav", "footer", "header", "svg", "template", "iframe", "object", "embed",
        "head", "canvas", "math", "noframes", "dialog", "datalist", "-comment",
    )
)  # fmt: skip
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_BLOCKS = frozenset(
    (
        "address", "article", "aside", "blockquote", "body", "caption", "dd", "details", "div", "dl", "dt",
        "fieldset", "figcaption", "figure", "form", "hr", "legend", "li", "main", "ol", "option", "p", "pre",
        "section", "summary", "table", "tbody", "tfoot", "thead", "tr", "ul", *_HEADINGS,
    )
)  # fmt: skip
_APART = frozenset(("article", "blockquote", "dl", "figure", "ol", "p", "pre", "section", "table", "ul", *_HEADINGS))
"""Blocks with an empty line around them."""
_VERBATIM = frozenset(("pre", "textarea"))
_CELLS = frozenset(("td", "th"))
_NO_LINKS = ("#", "javascript:", "data:", "vbscript:", "blob:")
_MAIN = ("main", "[role=main]", "article", "#content", ".content", "#main-content", ".main-content", ".post-content")
_MAIN_CHARACTERS = 200
"""A main part that says less is none."""

_BLANKS = re.compile(r"\s+")
_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]")  # soft hyphens and the like: within words, no gaps
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_TITLE_MOST, _DESCRIPTION_MOST, _LINK_MOST = 300, 1000, 500


def page_of(html: str, *, url: str, selector: str | None, most: int) -> Page:
    """The page's text, at most `most` characters of it. A selector that fits nothing means the whole page."""
    tree = LexborHTMLParser(html)
    metas = _metas(tree)
    text, is_cut = _chosen(tree, url, selector, most)
    titles = [node.text(deep=True) for node in tree.css("head > title")[:1]]
    return Page(
        title=_line(metas.get("og:title") or "".join(titles), _TITLE_MOST),
        description=_line(metas.get("og:description") or metas.get("description", ""), _DESCRIPTION_MOST),
        site_name=_line(metas.get("og:site_name", ""), _TITLE_MOST),
        text=text,
        is_cut=is_cut,
    )


def _chosen(tree: LexborHTMLParser, url: str, selector: str | None, most: int) -> tuple[str, bool]:
    if selector and (wanted := _first(tree, selector)) is not None:
        return _Writer(url, most).write(wanted)
    for main in _MAIN:
        if (node := _first(tree, main)) is not None:
            text, is_cut = _Writer(url, most).write(node)
            if len(text) > _MAIN_CHARACTERS:
                return text, is_cut
    return _Writer(url, most).write(tree.body) if tree.body is not None else ("", False)


def _first(tree: LexborHTMLParser, selector: str) -> LexborNode | None:
    try:
        return tree.css_first(selector)
    except (SelectolaxError, ValueError):  # no selector: then it fits nothing
        return None


def _metas(tree: LexborHTMLParser) -> dict[str, str]:
    """The first content of each name that we know."""
    found: dict[str, str] = {}
    for node in tree.css("meta[content]")[:500]:
        attributes = node.attributes
        name = (attributes.get("property") or attributes.get("name") or "").strip().lower()
        if name and name not in found and (content := (attributes.get("content") or "").strip()):
            found[name] = content
    return found


def _line(text: str, most: int) -> str:
    return _BLANKS.sub(" ", _INVISIBLE.sub("", text)).strip()[:most]


class _Writer:
    """Gathers text; a gap between two pieces is the largest that was asked for between them."""

    def __init__(self, url: str, most: int) -> None:
        self._url = url
        self._most = most
        self._pieces: list[str] = []
        self._length = 0
        self._gap = ""
        self._marker = ""
        """What the next words begin with; blocks without words have none."""
        self._verbatim = 0
        self._lists = 0

    def write(self, root: LexborNode) -> tuple[str, bool]:
        """The text, and whether it was cut."""
        open_nodes: list[tuple[LexborNode, Iterator[LexborNode]]] = []
        if not _is_dropped(root, is_root=True):
            self._enter(root)
            open_nodes.append((root, root.iter(include_text=True)))
        while open_nodes and self._length <= self._most:
            node, children = open_nodes[-1]
            child = next(children, None)
            if child is None:
                open_nodes.pop()
                self._leave(node)
            elif child.tag == "-text":
                self._say(child.text_content or "")
            elif not _is_dropped(child):
                self._enter(child)
                open_nodes.append((child, child.iter(include_text=True)))
        text = "".join(self._pieces).strip()
        return text[: self._most], len(text) > self._most

    def _enter(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if tag in _BLOCKS:
            self._space("\n\n" if tag in _APART and not self._lists else "\n")
        if tag in _HEADINGS:
            self._marker = _HEADINGS[tag] + " "
        elif tag == "li":
            self._marker = "  " * (self._lists - 1) + "- "
        elif tag in ("ul", "ol"):
            self._lists += 1
        elif tag == "br":
            self._space("\n")
        elif tag in _VERBATIM:
            self._verbatim += 1
        elif tag in _CELLS and node.prev is not None:
            self._space(" | ")

    def _leave(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if tag == "li" or tag in _HEADINGS:
            self._marker = ""
        elif tag in ("ul", "ol"):
            self._lists -= 1
        elif tag in _VERBATIM:
            self._verbatim -= 1
        elif tag == "a" and (address := self._address(node)):
            self._put(f" ({address})")
        if tag in _BLOCKS:
            self._space("\n\n" if tag in _APART and not self._lists else "\n")

    def _say(self, text: str) -> None:
        if self._verbatim:
            self._put(text)
            return
        plain = _BLANKS.sub(" ", _INVISIBLE.sub("", text))
        if plain.startswith(" "):
            self._space(" ")
        if words := plain.strip():
            self._put(words)
            if plain.endswith(" "):
                self._space(" ")

    def _space(self, gap: str) -> None:
        """A wish for a gap: the larger of two stays."""
        if _WEIGHTS[gap] > _WEIGHTS[self._gap]:
            self._gap = gap

    def _put(self, text: str) -> None:
        if not text:
            return
        if self._pieces and self._gap:
            self._pieces.append(self._gap)
            self._length += len(self._gap)
        self._pieces += (self._marker, text)
        self._length += len(self._marker) + len(text)
        self._gap = self._marker = ""

    def _address(self, node: LexborNode) -> str | None:
        """Where a link leads, as an address of its own; None if nowhere that can be fetched."""
        href = "".join((node.attributes.get("href") or "").split())
        if not href or href.lower().startswith(_NO_LINKS) or len(href) > _LINK_MOST:
            return None
        try:
            address = urljoin(self._url, href)
            return address if urlsplit(address).scheme in ("http", "https", "mailto", "tel") else None
        except ValueError:
            return None


_WEIGHTS = {"": 0, " ": 1, " | ": 2, "\n": 3, "\n\n": 4}


def _is_dropped(node: LexborNode, *, is_root: bool = False) -> bool:
    if node.tag in _DROPPED and not (is_root and node.tag in ("header", "footer", "nav")):
        return True
    if not node.is_element_node:
        return not is_root
    attributes = node.attributes
    return "hidden" in attributes or bool(_HIDDEN.search(attributes.get("style") or ""))
