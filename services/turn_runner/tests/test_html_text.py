"""HTML as text: what stays, what goes, and that nothing in a page makes it come out otherwise."""

from __future__ import annotations

import pytest

from turn_runner.pages.charsets import decoded
from turn_runner.pages.html_text import page_of
from turn_runner.pages.page import Page


def read(html: str, *, selector: str | None = None, most: int = 24_000) -> Page:
    return page_of(html, url="https://example.org/dir/page", selector=selector, most=most)


def text(html: str, **how: str) -> str:
    return read(html, **how).text  # type: ignore[arg-type]


def test_headings_lists_links_and_tables_read_as_such() -> None:
    html = """<h1>Big <b>news</b></h1><p>Some  text
      with a <a href="../x?a=1&amp;b=2">link</a>.</p><ul><li>One</li><li>Two<ol><li>Deep</li></ol></li></ul>
      <table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table><pre>  kept
    as it is</pre>a<br>b<h3>End</h3>"""
    assert text(html) == (
        "# Big news\n\nSome text with a link (https://example.org/x?a=1&b=2).\n\n- One\n- Two\n  - Deep\n\n"
        "A | B\n1 | 2\n\n  kept\n    as it is\n\na\nb\n\n### End"
    )


def test_a_marker_stands_with_its_words() -> None:
    html = "<ul><li><p>One</p><p>more</p></li><li></li><li><ul><li>Deep</li></ul></li></ul>"
    html += "<h2><div>Head</div></h2><h3></h3>"
    assert text(html) == "- One\nmore\n  - Deep\n\n## Head"


def test_what_cannot_be_seen_is_no_gap() -> None:
    assert text("<p>Donau\u00addampf\u200bschiff</p>") == "Donaudampfschiff"


@pytest.mark.parametrize("href", ["#top", "javascript:alert(1)", "JaVaScRiPt:x", " data:text/html,x", "vbscript:x",
                                  "java\nscript:x", "blob:x", "", "http://[", "x" * 600])  # fmt: skip
def test_links_that_lead_nowhere_are_only_their_words(href: str) -> None:
    assert text(f'<p>a <a href="{href}">word</a> b</p>') == "a word b"


@pytest.mark.parametrize("tag", ["script", "style", "noscript", "nav", "footer", "header", "svg", "template", "iframe"])
def test_what_is_no_content_goes(tag: str) -> None:
    assert text(f"<p>before</p><{tag}>gone <g>gone</g></{tag}><p>after</p>") == "before\n\nafter"


def test_comments_and_hidden_parts_go() -> None:
    html = "a<!-- gone --><p hidden>gone</p><div style='color:red; DISPLAY : none'>gone</div><p>b</p>"
    assert text(html) == "a\n\nb"


@pytest.mark.parametrize(
    "html",
    [
        "<scr<script>ipt>alert(1)</scr</script>ipt>",
        "<script><script>alert(1)</script>",
        "<scr<scr<script>ipt>ipt>alert(1)</script>",
        "<style><!--</style><script>alert(1)</script>-->",
        "<svg><style><![CDATA[</style><script>alert(1)</script>]]></style></svg>",
        "<noscript><p title='</noscript><script>alert(1)</script>'></noscript>",
        "<script>if (a < b) '</p>' + alert(1)",
        "<!-- <script> --><script>alert(1)</script>",
    ],
)
def test_scripts_do_not_come_out_by_nesting(html: str) -> None:
    """What is left may be odd text, as a browser would show it, but no element and no script's inside."""
    said = text(f"<p>before</p>{html}")
    assert said.startswith("before")
    assert "<script" not in said.lower()
    assert "<style" not in said.lower()


def test_entities_are_decoded_once() -> None:
    assert text("<p>&amp;lt;b&amp;gt; &lt;i&gt; &amp;amp; &#x26;amp; &eacute;</p>") == "&lt;b&gt; <i> &amp; &amp; é"


def test_the_main_part_is_read_if_it_says_enough() -> None:
    menu, long, short = "<div>menu</div>", "word " * 60, "word"
    assert text(f"{menu}<main>{long}</main>") == long.strip()
    assert text(f"{menu}<article>{long}</article>") == long.strip()
    assert text(f"{menu}<div id=content>{long}</div>") == long.strip()
    assert text(f"{menu}<main>{short}</main><article>{long}</article>") == long.strip()
    assert text(f"{menu}<main>{short}</main>") == "menu\nword"


@pytest.mark.parametrize(
    ("selector", "said"),
    [("#b", "two"), (".c", "three"), ("em", "four"), ("div > .c", "three"), ("nav", "menu"), ("#none", None),
     (">>>{", None), ("[", None), ("*" * 200, None)],
)  # fmt: skip
def test_a_selector_reads_one_part_or_the_whole(selector: str, said: str | None) -> None:
    html = "<nav>menu</nav><p>one</p><div><p id=b>two</p><p class='x c'>three</p></div><em>four</em>"
    assert text(html, selector=selector) == (said or "one\n\ntwo\n\nthree\n\nfour")


def test_title_description_and_site_of_og_before_the_pages_own() -> None:
    own = "<title>Own &amp; title</title><meta name=description content='Own'>"
    page = read(f"<head>{own}</head>x<svg><title>no</title></svg>")
    assert (page.title, page.description, page.site_name) == ("Own & title", "Own", "")
    og = "".join(f"<meta property='og:{name}' content='Og {name}'>" for name in ("title", "description", "site_name"))
    page = read(f"<head>{own}{og}</head>x")
    assert (page.title, page.description, page.site_name) == ("Og title", "Og description", "Og site_name")


def test_a_long_page_is_cut() -> None:
    page = read("<p>" + "a" * 30_000)
    assert (len(page.text), page.is_cut) == (24_000, True)
    page = read("<p>" + "a" * 24_000)
    assert (len(page.text), page.is_cut) == (24_000, False)


@pytest.mark.parametrize("html", ["", " ", "<", "<html></html>", "\x00", "<body hidden>x", "<frameset>", "</p>"])
def test_odd_pages_are_empty_or_little(html: str) -> None:
    assert len(text(html)) <= 5


@pytest.mark.parametrize(
    ("body", "charset", "said"),
    [
        ("é".encode(), None, "é"),
        ("é".encode("latin-1"), None, "é"),
        ("é".encode("latin-1"), "ISO-8859-1", "é"),
        (b"\x93q\x94", "iso-8859-1", "“q”"),
        (b"\xef\xbb\xbf" + "é".encode(), "iso-8859-1", "é"),
        ("é".encode("utf-16"), None, "é"),
        (b'<meta charset="windows-1251">\xcf', None, '<meta charset="windows-1251">П'),
        (b"<meta content='text/html; charset=koi8-r'>\xf0", None, "<meta content='text/html; charset=koi8-r'>П"),
        ("日".encode("gbk"), "gb2312", "日"),
        (b"abc", "no-such-charset", "abc"),
        (b"\\u0041", "unicode_escape", "\\u0041"),
        (b"abc", "zlib_codec", "abc"),
        ("é".encode()[:1] + b"", "utf-8", "�"),
        ("éé".encode()[:-1], None, "é"),
        ("café".encode("latin-1"), None, "café"),
    ],
)  # fmt: skip
def test_bytes_as_text(body: bytes, charset: str | None, said: str) -> None:
    assert decoded(body, charset, is_html=True) == said
