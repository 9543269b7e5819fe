"""The pages that are read from the code say what the code says."""

import pytest

from tests.kit.reference_pages import COMMAND, PAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_is_up_to_date(page):
    assert page.read_text() == PAGES[page](), f"run: {COMMAND}"
