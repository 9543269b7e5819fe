"""The OpenAPI document: kept in the repository, complete, and in one shape."""

import json
from pathlib import Path

import pytest

from gateway.app import make_api
from gateway.openapi import text

KEPT = Path(__file__).parents[2] / "docs/reference/openapi.json"
DOCUMENT = make_api().openapi()
OPERATIONS = [
    pytest.param(method, path, described, id=f"{method.upper()} {path}")
    for path, methods in DOCUMENT["paths"].items()
    for method, described in methods.items()
]


def test_the_kept_document_is_up_to_date():
    assert KEPT.read_text() == text(), "run: .venv/bin/python -m gateway.openapi > docs/reference/openapi.json"


def test_operation_ids_are_unique_words():
    ids = [param.values[2]["operationId"] for param in OPERATIONS]
    assert len(ids) == len(set(ids))
    assert all(each.isidentifier() for each in ids)


@pytest.mark.parametrize(("method", "path", "described"), OPERATIONS)
def test_an_operation_says_what_it_does_and_how_it_refuses(method, path, described):
    assert described["description"]
    assert described["tags"]
    assert "security" in described
    good = [status for status in described["responses"] if status.startswith("2")]
    assert good
    for status, response in described["responses"].items():
        if not status.startswith("2"):
            schema = response["content"]["application/json"]["schema"]
            assert schema == {"$ref": "#/components/schemas/ErrorBody"}, f"{status} has a shape of its own"
    refusals = set(described["responses"])
    assert {"429", "500", "503"} <= refusals
    if described["security"]:
        assert "401" in refusals
    if "requestBody" in described:
        assert {"400", "413", "415", "422"} <= refusals
    if "{" in path and not path.startswith("/api/chat/"):
        assert "404" in refusals


def test_no_shape_of_the_framework_is_left():
    assert "HTTPValidationError" not in json.dumps(DOCUMENT)
