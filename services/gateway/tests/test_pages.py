"""Serving the built page: caching, fallback, compression, and nothing outside its folder."""

import gzip

import pytest
from starlette.datastructures import Headers

from gateway.pages import PAGE_POLICY, WebPages

INDEX = "<!doctype html><title>Retinue</title>" + " " * 2000


@pytest.fixture
def dist(tmp_path):
    folder = tmp_path / "dist"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text(INDEX)
    (folder / "assets" / "main-B2x9Kq1Z.js").write_text("let a = 1;" * 500)
    (folder / "favicon.svg").write_text("<svg/>")
    (tmp_path / "secret.txt").write_text("not yours")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    return folder


def ask(pages, path, method="GET", **headers):
    return pages.answer(method, path, Headers({name.replace("_", "-"): value for name, value in headers.items()}))


@pytest.mark.parametrize("path", ["/", "/t/0199", "/sign-in", "/register", "/settings"])
def test_routes_of_the_page_get_the_page(dist, path):
    response = ask(WebPages(dist), path)
    assert (response.status_code, response.body.decode()) == (200, INDEX)
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["content-security-policy"] == PAGE_POLICY


def test_hashed_files_are_kept_for_ever_and_others_are_asked_for(dist):
    pages = WebPages(dist)
    script = ask(pages, "/assets/main-B2x9Kq1Z.js")
    assert "immutable" in script.headers["cache-control"]
    assert "javascript" in script.headers["content-type"]
    icon = ask(pages, "/favicon.svg")
    assert icon.headers["cache-control"] == "no-cache"
    again = ask(pages, "/favicon.svg", if_none_match=icon.headers["etag"])
    assert (again.status_code, again.body) == (304, b"")


def test_what_shrinks_is_sent_packed_to_who_takes_it(dist):
    pages = WebPages(dist)
    packed = ask(pages, "/", accept_encoding="br, gzip;q=0.8")
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body).decode() == INDEX
    assert "content-encoding" not in ask(pages, "/", accept_encoding="gzip;q=0").headers
    assert "content-encoding" not in ask(pages, "/favicon.svg", accept_encoding="gzip").headers


@pytest.mark.parametrize(
    "path", ["/api/nothing", "/v1/models", "/nothing.js", "/../secret.txt", "/link.txt", "/assets/../../secret.txt"]
)
def test_everything_else_is_not_found(dist, path):
    response = ask(WebPages(dist), path)
    assert response.status_code == 404
    assert b'"not_found"' in response.body


def test_a_person_who_lost_the_way_sees_the_page(dist):
    response = ask(WebPages(dist), "/nowhere", accept="text/html")
    assert (response.status_code, response.body.decode()) == (404, INDEX)
    assert ask(WebPages(dist), "/api/nowhere", accept="text/html").headers["content-type"] == "application/json"


def test_without_a_build_it_says_how_to_make_one_and_finds_it_later(tmp_path):
    folder = tmp_path / "dist"
    pages = WebPages(folder)
    assert b"make setup" in ask(pages, "/").body
    assert b"make setup" in ask(WebPages(None), "/").body
    folder.mkdir()
    (folder / "index.html").write_text(INDEX)
    assert ask(pages, "/").body.decode() == INDEX


def test_other_methods_find_nothing_here(dist):
    assert ask(WebPages(dist), "/", method="POST").status_code == 404
