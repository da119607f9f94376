"""Labels that a person gives on the page of a sample, and what is made of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from jsonl import read_rows

pytest.importorskip("starlette", reason="the extra 'view' is not installed")
pytest.importorskip("httpx2", reason="Starlette's client needs httpx2")

from heedful import judge_accuracy
from heedful.analysis import calibration
from viewing import HOST, client, keys_of, make_run

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.testclient import TestClient


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path / "runs" / "mine", 12)


@pytest.fixture
def browser(run: Path) -> TestClient:
    return client(run.parent)


def post(browser: TestClient, row: int, fields: dict[str, str], **more: Any) -> Any:
    address = f"{keys_of(browser)['mine']}/samples/{row}"
    more.setdefault("headers", {"origin": f"http://{HOST}"})
    return browser.post(address, data=fields, follow_redirects=False, **more)


def pressed(browser: TestClient, row: int) -> list[str]:
    page = browser.get(f"{keys_of(browser)['mine']}/samples/{row}").text
    return re.findall(r'aria-pressed="true" aria-describedby="label-\d+">(\w+) <', page)


def test_a_label_is_saved_beside_the_run_and_taken_back(run: Path, browser: TestClient) -> None:
    before = {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}
    answer = post(browser, 2, {"constraint": "2", "label": "unmet"}, params={"status": "met"})
    assert answer.status_code == 303
    assert answer.headers["location"].endswith("/samples/2?status=met#constraint-2")
    path = run.with_name("mine.labels.jsonl")
    assert [(row["id"], row["labels"]) for row in read_rows(path)] == [("note-1", [None, False])]
    assert pressed(browser, 2) == ["unmet"]
    post(browser, 2, {"constraint": "1", "label": "met"})
    assert pressed(browser, 2) == ["met", "unmet"]
    for number in ("1", "2"):
        post(browser, 2, {"constraint": number, "label": ""})
    assert not pressed(browser, 2)
    assert not read_rows(path)
    assert before == {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}


def test_meta_measures_the_run_by_these_labels(run: Path, browser: TestClient) -> None:
    # note-0 has a comma, which rules find; note-1 has none, and is labelled wrongly.
    post(browser, 1, {"constraint": "1", "label": "unmet"})
    post(browser, 2, {"constraint": "1", "label": "unmet"})
    result = judge_accuracy(run.with_name("mine.labels.jsonl"), runs=[run])
    (judge,) = result["judges"]
    assert judge["pooled"]["cells"] == {"tp": 0, "fp": 1, "fn": 0, "tn": 1}


def test_drawn_rows_are_labelled_for_calibrate_and_no_others(
    run: Path, browser: TestClient
) -> None:
    path = run.with_name("mine.labels.jsonl")
    calibration.draw(run, path, labels=4)
    drawn = {row["id"] for row in read_rows(path)}
    for row in range(1, 13):
        for number in ("1", "2"):
            answer = post(browser, row, {"constraint": number, "label": "met"})
            assert answer.status_code == (303 if f"note-{row - 1}" in drawn else 400)
    assert {row["id"] for row in read_rows(path)} == drawn
    assert calibration.calibrate(run, path)["draw"]["labels"] == 4


@pytest.mark.parametrize(
    "fields",
    [
        {"constraint": "3", "label": "met"},
        {"constraint": "0", "label": "met"},
        {"constraint": "9" * 30, "label": "met"},
        {"constraint": "1", "label": "true"},
        {"label": "met"},
    ],
)
def test_what_is_no_label_writes_nothing(
    run: Path, browser: TestClient, fields: dict[str, str]
) -> None:
    assert post(browser, 1, fields).status_code == 400
    assert not run.with_name("mine.labels.jsonl").exists()


def test_two_people_label_alone_and_a_third_decides_where_they_differ(run: Path) -> None:
    anna, ben, lead = (client(run.parent, annotator=name) for name in ("anna", "ben", None))
    for person, second in ((anna, "met"), (ben, "unmet")):
        post(person, 2, {"constraint": "1", "label": "met"})
        post(person, 2, {"constraint": "2", "label": second})
    assert (pressed(anna, 2), pressed(ben, 2)) == (["met", "met"], ["met", "unmet"])
    assert not pressed(lead, 2)
    page = lead.get(f"{keys_of(lead)['mine']}/samples/2").text
    assert "Annotators differ on constraint 2: your label decides" in page
    assert "Annotators differ" not in anna.get(f"{keys_of(anna)['mine']}/samples/2").text
    path = run.with_name("mine.labels.jsonl")
    labels = judge_accuracy(path, runs=[run])["labels"]
    assert (labels["met"], labels["unmet"]) == (1, 0)  # the other one is open
    post(lead, 2, {"constraint": "2", "label": "unmet"})
    result = judge_accuracy(path, runs=[run])
    assert (result["labels"]["met"], result["labels"]["unmet"]) == (1, 1)
    assert result["alpha"]["annotators"]["constraints"] == 2
    page = lead.get(f"{keys_of(lead)['mine']}/samples/2").text
    assert "Annotators differ" not in page
