"""Bytes of a page as text: byte order mark, header, the page's own word, UTF-8, and what is left is Windows-1252."""

from __future__ import annotations

import codecs
import re

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_META = re.compile(rb"<meta[^>]{0,200}?charset\s{0,9}=\s{0,9}[\"']?\s{0,9}([a-zA-Z0-9_:.-]{1,40})", re.IGNORECASE)
_META_WITHIN = 4096
_READ_AS = {"ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "gb2312": "gb18030", "gbk": "gb18030"}
"""As browsers do: the wider set of characters that a name is used for."""
_NO_CHARSETS = frozenset(
    ("idna", "mbcs", "oem", "punycode", "raw_unicode_escape", "undefined", "unicode_escape", "utf_7")
)


def decoded(body: bytes, charset: str | None, *, is_html: bool) -> str:
    """Never fails: what cannot be read becomes the replacement character."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, errors="replace")
    known = _known(charset)
    if known is None and is_html and (named := _META.search(body[:_META_WITHIN])):
        known = _known(named[1].decode("ascii"))
        if known is not None and known.startswith("utf-16"):
            known = "utf-8"  # it was readable as bytes
    if known is not None:
        return body.decode(known, errors="replace")
    return _unsaid(body, is_html=is_html)


def _unsaid(body: bytes, *, is_html: bool) -> str:
    """Nobody said what it is: UTF-8, even if its last character was cut off, else what old pages are."""
    try:
        return body.decode()
    except UnicodeDecodeError as wrong:
        is_cut_off = wrong.reason == "unexpected end of data" and not body[: wrong.start].isascii()
        is_utf8 = is_cut_off or not is_html
        return body.decode("utf-8" if is_utf8 else "cp1252", errors="ignore" if is_cut_off else "replace")


def _known(charset: str | None) -> str | None:
    if not charset:
        return None
    try:
        name = codecs.lookup(charset).name
        "".encode(name)  # LookupError for codecs that are no character sets
    except (LookupError, ValueError, UnicodeError):
        return None
    return None if name.replace("-", "_") in _NO_CHARSETS else _READ_AS.get(name, name)
