"""The pages of the viewer, as a client without a browser has them."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heedful import evaluate
from heedful.core.nouns import Critique
from heedful.engine.lock import only_writer
from heedful.engine.store import Input, Store

pytest.importorskip("starlette", reason="the extra 'view' is not installed")
pytest.importorskip("httpx2", reason="Starlette's client needs httpx2")

from viewing import HOSTILE, client, keys_of, make_run, notes, open_client

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.testclient import TestClient

CONSTRAINTS = 2


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("viewer") / "runs"
    make_run(root / "small")
    make_run(root / "large", commas=5)
    make_run(root / "panel", 30, panel=True)
    return root


@pytest.fixture
def browser(root: Path) -> TestClient:
    return client(root)


def count(text: str) -> str:
    found = re.search(r'<p class="count".*?>(.*?)</p>', text, re.DOTALL)
    assert found is not None, text
    return " ".join(re.sub(r"<[^>]+>", " ", found[1]).split())


def ids(text: str) -> list[str]:
    return re.findall(r'class="id"[^>]*>([^<]+)<', text)


def plain(text: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


def test_the_list_has_runs_with_their_judge_rates_and_coverage(browser: TestClient) -> None:
    text = plain(browser.get("/").text)
    assert "small finished rules 60" in text
    assert "panel finished panel(a, b, c) 30" in text
    assert "constraints met" in text
    assert "50.0" in text  # the coverage of small: code decides one constraint of two


def listed_runs(browser: TestClient, query: str = "") -> list[str]:
    """Name the runs of the list, in its order."""
    return re.findall(r"data-open>(.*?)</a>", browser.get(f"/?{query}").text)


def test_runs_are_searched_and_sorted(browser: TestClient) -> None:
    assert {*listed_runs(browser)} == {"small", "large", "panel"}
    assert listed_runs(browser, "q=PANEL") == ["panel"]
    assert not listed_runs(browser, "q=nowhere")
    # Code decides one constraint of two, a panel all of them.
    assert listed_runs(browser, "sort=coverage")[0] == "panel"


def test_what_is_filtered_is_downloaded(browser: TestClient) -> None:
    address = f"{keys_of(browser)['small']}/samples"
    for query, rows in (("", 60), ("status=unmet", 10), ("tag=task:river&tag=level:1", 10)):
        answer = browser.get(f"{address}.jsonl?{query}")
        assert "small.jsonl" in answer.headers["content-disposition"]
        lines = answer.text.splitlines()
        assert len(lines) == rows
        assert all(json.loads(line)["judgments"] for line in lines)


def test_a_run_that_decided_nothing_looks_failed(tmp_path: Path) -> None:
    evaluate(
        [{"prompt": "x", "checklist": ["It is kind."], "response": "y"}],
        run=tmp_path / "runs" / "nothing",
    )
    browser = client(tmp_path / "runs")
    text = plain(browser.get("/").text)
    assert "nothing failed" in text
    assert "no verdict" in text
    (address,) = keys_of(browser).values()
    page = plain(browser.get(address).text)
    assert "no check" in page
    assert "nothing failed judged by code" in page
    assert "No run of that name." in plain(browser.get("/run/none").text)


def test_the_page_of_a_run_has_its_rates_and_how_it_was_made(browser: TestClient) -> None:
    text = plain(browser.get(keys_of(browser)["small"]).text)
    for words in ("60 samples", "constraints met", "Constraints met by type", "verdicts by hand"):
        assert words in text
    # Rules decide one constraint of two; the samples with it unmet are one click away.
    assert "punctuation:no_comma" in text
    assert "?status=unmet&amp;constraint=" in browser.get(keys_of(browser)["small"]).text


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", 60),
        ("status=unmet", 10),
        ("status=unmet&type=content", 0),
        ("status=unmet&type=format", 10),
        ("status=undecided", 60),
        ("status=unsupported&type=format", 0),
        ("status=problem", 0),
        ("tag=task:river", 20),
        ("tag=task:river&tag=level:1", 10),
        ("tag=task:nowhere", 0),
        ("judge=rules&status=met", 50),
        ("judge=nobody", 0),
        ("disagreement=label", 5),
        ("q=RIVER", 20),
        ("q=大海", 19),
        ("q=海", 19),
        ("q=النهر", 20),
        ("q=onerror='alert", 1),
        ("q=note-59", 1),
        ("q=nobody+wrote+this", 0),
        ("q=%22", 1),
        ("q=no_comma", 0),
    ],
)
def test_filters_are_exact_and_the_same_without_an_index(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str, expected: int
) -> None:
    browser = client(root)
    address = f"{keys_of(browser)['small']}/samples?{query}"
    first = browser.get(address).text
    assert count(first).startswith(f"{expected} of 60" if query else "60 samples")
    without, viewer = open_client(root, tmp_path / "none")
    monkeypatch.setattr(viewer.builds, "bring_up", lambda _: None)
    assert ids(without.get(address).text) == ids(first)
    assert count(without.get(address).text).split(" ·")[0] == count(first).split(" ·")[0]


def test_a_filter_of_constraints_wants_one_that_has_all(browser: TestClient) -> None:
    base = f"{keys_of(browser)['panel']}/samples"
    split = count(browser.get(f"{base}?disagreement=votes").text)
    # The three agree on what 2, 3 and 5 divide, and on what none of them divides: 0, 1, 7, 11, ….
    assert split.startswith("21 of 30")
    sure = count(browser.get(f"{base}?low=1").text)
    assert sure.startswith("9 of 30")
    assert count(browser.get(f"{base}?low=1&disagreement=votes").text).startswith("0 of 30")
    assert count(browser.get(f"{base}?low=0.5&high=0.7").text).startswith("21 of 30")


def test_pages_follow_each_other_and_a_filter_stays_with_its_samples(browser: TestClient) -> None:
    base = f"{keys_of(browser)['small']}/samples"
    first, second = (browser.get(f"{base}?page={page}").text for page in (1, 2))
    assert (len(ids(first)), len(ids(second))) == (50, 10)
    assert 'rel="next"' in first
    assert 'rel="next"' not in second
    assert ids(browser.get(f"{base}?page=99").text) == ids(second)
    found = browser.get(f"{base}?status=unmet").text
    links = re.findall(r'data-open href="([^"]+)"', found)
    page = browser.get(links[1].replace("&amp;", "&")).text
    assert "2 of 10" in plain(page)
    before, after = (
        re.search(rf'rel="{rel}"[^>]*href="([^"]+)"', page) for rel in ("prev", "next")
    )
    assert before is not None
    assert after is not None
    assert [before[1], after[1]] == [links[0], links[2]]
    assert " of 10" not in plain(browser.get(f"{base}/2?status=unmet").text)


def test_a_sample_has_all_that_is_known_of_it(browser: TestClient) -> None:
    text = browser.get(f"{keys_of(browser)['panel']}/samples/7").text
    words = plain(text)
    assert "panel(a, b, c) · confidence" not in words  # the dots are drawn
    for part in ("a saw “river”", "confidence 0.67", "✓" * 0, "a speaks b speaks c speaks"):
        assert part in words
    assert words.count("unmet") >= 2
    assert '<mark class="of" data-of="1">Use no commas.</mark>' in text
    assert '<mark class="of" data-of="1">river</mark>' in text
    rules = plain(browser.get(f"{keys_of(browser)['small']}/samples/1").text)
    assert "2 commas, none allowed" in rules
    assert "punctuation:no_comma" in rules
    assert "loose reading: unmet" in rules
    assert "label: met" in rules


def test_hostile_text_is_text(browser: TestClient) -> None:
    small = keys_of(browser)["small"]
    for address in (f"{small}/samples/5", f"{small}/samples?q=alert", f"{small}/samples"):
        answer = browser.get(address)
        assert "<script>alert" not in answer.text
        assert "<img" not in answer.text
        assert "49" not in re.findall(r"\{\{.*?\}\}|\b49\b", answer.text.partition("main")[0])
    page = browser.get(f"{small}/samples/5").text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert '<span class="control">U+202E</span>' in page
    assert '<span class="control">U+0000</span>' in page
    assert "{{ 7 * 7 }}" in page
    assert HOSTILE[-3000:] in page


def test_a_very_long_response_is_cut_until_it_is_asked_for(tmp_path: Path) -> None:
    (sample,) = notes(1)

    long = sample.model_copy(update={"response": "word " * 200_000})
    evaluate([long], run=tmp_path / "runs" / "long")
    browser = client(tmp_path / "runs")
    address = f"{keys_of(browser)['long']}/samples/1"
    page = browser.get(address).text
    assert len(page) < 60_000
    assert "980,000 more characters" in page
    assert len(browser.get(f"{address}?whole").text) > 1_000_000


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("status=maybe", "maybe"),
        ("disagreement=all", "choose votes or label"),
        ("low=2", "give a number from 0 to 1"),
        ("high=nan", "give a number from 0 to 1"),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused_in_its_place(
    browser: TestClient, query: str, said: str
) -> None:
    answer = browser.get(f"{keys_of(browser)['small']}/samples?{query}")
    assert answer.status_code == 400
    assert said in answer.text
    assert 'id="results"' in answer.text


def test_rows_that_are_broken_say_so_and_the_others_are_shown(root: Path, tmp_path: Path) -> None:
    directory = tmp_path / "runs" / "rows"
    shutil.copytree(root / "small", directory)
    with sqlite3.connect(directory / "run.sqlite") as db:
        db.execute("UPDATE outputs SET value = 'no JSON' WHERE position = 1")
        db.execute("UPDATE inputs SET value = '[]' WHERE position = 2")
    db.close()
    browser = client(tmp_path / "runs")
    (address,) = keys_of(browser).values()
    samples = browser.get(f"{address}/samples").text
    assert re.findall(r"row (\d+) cannot", samples) == ["2", "3"]
    assert len(ids(samples)) == 50
    assert "row 2 cannot" in browser.get(f"{address}/samples/2").text
    assert count(browser.get(f"{address}/samples?status=problem").text).startswith("2 of 60")
    for number in (0, 61, 10**30):
        assert browser.get(f"{address}/samples/{number}").status_code == 404
    assert browser.get("/run/none-00000000").status_code == 404


def test_a_run_under_way_is_seen_growing_and_nothing_is_left_in_it(tmp_path: Path) -> None:
    directory = tmp_path / "runs" / "live"
    samples = list(notes(20))

    def put(store: Store, numbers: range) -> None:
        for number in numbers:
            text = samples[number].model_dump_json(exclude_defaults=True)
            store.add_inputs([Input(number, number + 1, samples[number].id, text, None)])
        store.flush()

    def done(store: Store, numbers: range) -> None:
        critique = Critique.model_validate({"judgments": [{"status": "unmet"}] * CONSTRAINTS})
        for number in numbers:
            store.add_output(number, critique.model_dump_json())
        store.flush()

    with only_writer(directory), Store(directory) as store:
        store.configure({"judge": "scripted", "scoring": "strict"})
        store.set_meta("total", 20)
        put(store, range(8))
        done(store, range(4))
        done(store, range(5, 7))
        store.add_output(7, None, "the model did not answer")
        store.flush()
        browser = client(tmp_path / "runs")
        address = keys_of(browser)["live"]
        page = plain(browser.get(address).text)
        assert "live running" in page
        assert "7 of 8 read" in page
        assert "40%" in page
        assert "failed 1" in page
        assert count(browser.get(f"{address}/samples?status=unmet").text).startswith("6 of 8")
        assert "not judged yet" in browser.get(f"{address}/samples").text
        done(store, range(4, 5))
        put(store, range(8, 20))
        done(store, range(8, 20))
        assert count(browser.get(f"{address}/samples?status=unmet").text).startswith("19 of 20")
        assert count(browser.get(f"{address}/samples?status=problem").text).startswith("1 of 20")
    live = {"hx-request": "true"}
    assert "hx-refresh" not in browser.get(address, headers=live).headers
    before = {path.name: path.read_bytes() for path in directory.iterdir()}
    assert "interrupted" in browser.get(address).text
    browser.get(f"{address}/samples?q=delta")
    assert {path.name: path.read_bytes() for path in directory.iterdir()} == before
    (directory / "summary.json").write_text("{}")
    assert browser.get(address, headers=live).headers["hx-refresh"] == "true"


def test_rows_judged_again_are_indexed_again(tmp_path: Path) -> None:
    directory = make_run(tmp_path / "runs" / "again", 12)
    browser = client(tmp_path / "runs")
    address = f"{keys_of(browser)['again']}/samples?status=unmet"
    assert count(browser.get(address).text).startswith("2 of 12")
    with Store(directory) as store:
        store.set_meta("retries", 1)
        store.forget([0])
        critique: dict[str, Any] = {"judgments": [{"status": "met"}] * CONSTRAINTS}
        store.add_output(0, json.dumps(critique))
    assert count(browser.get(address).text).startswith("1 of 12")


def test_one_run_is_shown_by_itself_and_hidden_folders_are_not(root: Path, tmp_path: Path) -> None:
    alone, _ = open_client(root / "small", tmp_path / "indexes")
    address = keys_of(alone)["small"]
    assert count(alone.get(f"{address}/samples").text).startswith("60 samples")
    for name in (".hidden", "a/b/c"):
        shutil.copytree(root / "small", tmp_path / "runs" / name)
    assert list(keys_of(client(tmp_path / "runs"))) == ["a/b/c"]
    empty = client(tmp_path / "indexes")
    assert keys_of(empty) == {}


@pytest.mark.slow
def test_two_runs_are_compared_flips_first(browser: TestClient) -> None:
    keys = {name: address.rpartition("/")[2] for name, address in keys_of(browser).items()}
    address = f"/compare?run={keys['small']}&run={keys['large']}"
    text = waited(browser, address)
    words = plain(text)
    assert "Verdicts that differ" in words
    # The first sentence names rates; their table comes below the verdicts.
    assert words.index("Verdicts that differ") < words.rindex("constraints met")
    links = re.findall(r'data-open href="([^"#]+)#constraint-1"', text)
    assert links
    only = waited(browser, f"{address}&way=met")
    assert 0 < len(re.findall("data-open", only)) < len(links)
    page = plain(browser.get(links[0].replace("&amp;", "&")).text)
    assert "commas, none allowed" in page
    assert "no commas" in page
    refused = waited(browser, f"/compare?run={keys['large']}&run={keys['panel']}")
    assert "Verdicts that differ" not in refused
    assert "Verdicts that differ" in waited(
        browser, f"/compare?run={keys['large']}&run={keys['panel']}&anyway"
    )
    assert browser.get(f"/compare?run={keys['small']}").status_code == 400


def waited(browser: TestClient, address: str) -> str:
    import time

    for _ in range(200):
        text = browser.get(address).text
        if 'id="waiting"' not in text:
            return text
        time.sleep(0.1)
    pytest.fail("the comparison never ended")


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(q=st.text(max_size=12), sort=st.text(max_size=12))
def test_the_list_takes_any_search_and_any_order(q: str, sort: str, browser: TestClient) -> None:
    assert browser.get("/", params={"q": q, "sort": sort}).status_code == 200
