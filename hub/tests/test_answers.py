"""Reading of answers, in cases that no other test covers."""

import json

import pytest

from jupyterhub_skylab.answers import Answer, lab_of, problem_of
from jupyterhub_skylab.errors import Refused, Unreachable
from jupyterhub_skylab.events import Event


def test_reading_a_lab_skips_invalid_fields() -> None:
    body = {
        "status": "running",
        "internal_url": "javascript:alert(1)",
        "events": [7, {"event": "info"}, {"event": "news", "data": "x"}, {"event": "error", "data": "y", "id": 3}],
    }
    lab = lab_of(Answer(200, {}, json.dumps(body).encode()))
    assert lab is not None
    assert lab.internal_url is None
    assert lab.events == (Event("error", "y"),)
    assert lab.reason == "y"
    assert lab_of(Answer(200, {}, b'{"status": "pending", "events": {}}')) is not None


@pytest.mark.parametrize(
    "url", ["http://x:99999/", "http://[bad", "http://", "http://x:y/", "ftp://x/", "http://x:0/", 7, None]
)
def test_reading_a_lab_drops_an_address_that_the_hub_cannot_parse(url: object) -> None:
    lab = lab_of(Answer(200, {}, json.dumps({"status": "running", "internal_url": url}).encode()))
    assert lab is not None
    assert lab.internal_url is None


def test_messages_are_bounded() -> None:
    body = json.dumps({"detail": [{"msg": "x" * 500, "type": "t", "loc": ["path", "u"]}] * 50 + ["odd"]}).encode()
    problem = problem_of(Answer(422, {}, body))
    assert isinstance(problem, Refused)
    assert len(problem.words) <= 1000


def test_retry_after_accepts_only_seconds() -> None:
    for value, seconds in (("7", 7.0), ("Wed, 21 Oct 2026 07:28:00 GMT", None), ("", None), ("-1", None), ("٣", None)):
        problem = problem_of(Answer(503, {"Retry-After": value}, b""))
        assert isinstance(problem, Unreachable)
        assert problem.retry_after == seconds
