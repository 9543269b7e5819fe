import pytest

from cli.up.refusal import Refused
from cli.up.settings import load_settings


@pytest.mark.parametrize("url", ["notaurl", "ftp://example.org", "https://", "example.org:8700"])
def test_a_public_url_that_is_none_is_refused_by_name(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("RETINUE_PUBLIC_URL", url)
    with pytest.raises(Refused, match=r"^RETINUE_PUBLIC_URL: must be an address such as"):
        load_settings()


def test_a_public_url_means_production(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETINUE_PUBLIC_URL", "https://retinue.example.org")
    assert load_settings().production
    monkeypatch.delenv("RETINUE_PUBLIC_URL")
    assert not load_settings().production
