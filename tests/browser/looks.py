"""Looks a page over: photographs each state in light and dark, and holds it to what every state must be.

Photographs go to `screenshots/STATE.DEVICE.SCHEME.png`, which git leaves alone. Checked are axe's serious findings, and
on a phone that nothing scrolls sideways and everything that is touched is large enough.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.async_api import Page

SCREENSHOTS = Path(__file__).parent / "screenshots"
AXE = Path(__file__).parents[2] / "services/web/node_modules/axe-core/axe.min.js"
Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")

RUN_AXE = """async () => {
    const result = await axe.run(document, { resultTypes: ['violations'], preload: false });
    return result.violations
        .filter(found => ['serious', 'critical'].includes(found.impact))
        .flatMap(found => found.nodes.map(node => `${found.id}: ${node.target.join(' ')} ${node.failureSummary}`));
}"""

FINISH_ANIMATIONS = """() => {
    for (const animation of document.getAnimations()) {
        if (Number.isFinite(animation.effect.getComputedTiming().endTime)) animation.finish();
    }
}"""

SIDEWAYS = """() => {
    const wide = [...document.querySelectorAll('body *')].filter(one => {
        const box = one.getBoundingClientRect();
        const style = getComputedStyle(one);
        return box.width > 0 && box.right > innerWidth + 1 && style.visibility !== 'hidden'
            && !one.closest('pre, .table-scroll, .visually-hidden, .column');
    });
    const page = document.scrollingElement;
    return page.scrollWidth > innerWidth ? ['the page'] : wide.map(one => one.outerHTML.slice(0, 120));
}"""

SMALL = """() => [...document.querySelectorAll('button, a, input, textarea, summary, [role=menuitem]')]
    .filter(one => one.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
    .filter(one => !one.closest('[inert]') && !one.disabled && !one.closest('.visually-hidden'))
    // A link inside a sentence is as high as its line; everybody knows how to hit that.
    .filter(one => !(one.tagName === 'A' && one.closest('.prose')) && !(one.type === 'checkbox' && one.disabled))
    .map(one => [one, one.tagName === 'TEXTAREA' ? one.closest('.composer') : null, one.type])
    // A box to tick is as large as its label.
    .map(([one, around, type]) => [one, around ?? (['checkbox', 'radio'].includes(type) ? one.closest('label') : null)])
    .map(([one, area]) => [one, (area ?? one).getBoundingClientRect()])
    .filter(([, box]) => box.width > 0 && (box.height < 43.5 || box.width < 43.5))
    .map(([one, box]) => `${one.outerHTML.slice(0, 100)} ${Math.round(box.width)}x${Math.round(box.height)}`)"""


async def look_over(page: Page, state: str) -> None:
    """In light and dark: a photograph and no findings."""
    findings: list[str] = []
    device = "phone" if await page.evaluate("matchMedia('(pointer: coarse)').matches") else "wide"
    for scheme in SCHEMES:
        await page.emulate_media(color_scheme=scheme)
        await page.evaluate(FINISH_ANIMATIONS)
        await photograph(page, f"{state}.{device}.{scheme}")
        if device == "wide" or scheme == "light":  # dark has the same colours on a phone
            findings += [f"{scheme}: {finding}" for finding in await accessibility_findings(page)]
    if device == "phone":
        findings += [f"sideways: {finding}" for finding in await page.evaluate(SIDEWAYS)]
        findings += [f"small: {finding}" for finding in await page.evaluate(SMALL)]
    await page.emulate_media(color_scheme="light")
    assert findings == [], f"{state}.{device}:\n" + "\n".join(findings)


async def photograph(page: Page, name: str, **options: Any) -> None:
    SCREENSHOTS.mkdir(exist_ok=True)
    await page.screenshot(path=SCREENSHOTS / f"{name}.png", animations="disabled", scale="css", **options)


async def accessibility_findings(page: Page) -> list[str]:
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: make setup")
    if not await page.evaluate("typeof axe === 'object'"):
        await page.evaluate(AXE.read_text())
    return await page.evaluate(RUN_AXE)
