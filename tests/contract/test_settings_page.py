"""The settings page says what the code says."""

import pytest

from tests.kit.settings_page import PAGE, SECTIONS, page


def test_the_page_is_up_to_date():
    assert PAGE.read_text() == page(), "run: .venv/bin/python -m tests.kit.settings_page"


@pytest.mark.parametrize("cls", [cls for _, _, cls in SECTIONS], ids=lambda cls: cls.__name__)
def test_every_setting_says_what_it_does(cls):
    silent = [name for name, field in cls.model_fields.items() if not field.description]
    assert not silent
