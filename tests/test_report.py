"""The report of runs: its numbers, its safety, its errors, and where its numbers come from."""

import hashlib
import json
import re
from base64 import b64encode
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import commands
from compared import STATES, run, sample
from heedful import Constraint, Message, Recording, RunError, Sample, UsageError, evaluate
from heedful import report as write_report
from heedful.core.nouns import Status
from heedful.engine.reader import Reader
from heedful.engine.sessions import without_secrets
from heedful.engine.store import Store
from heedful.judges import Panel
from heedful.reporting.html.environment import ASSETS, said
from properties import of_a_hundred
from told import Told

EMPTY = {"meta", "br", "wbr", "link", "img"}


class Page(HTMLParser):
    """A page as a reader has it: its tables, its text, and what a browser would act on."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tables: dict[str, list[list[str]]] = {}
        self.tags: set[str] = set()
        self.attributes: dict[str, set[str]] = {}
        self.scripts: list[str] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self._rows: list[list[str]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            self.attributes.setdefault(name, set()).add(value or "")
        if tag not in EMPTY:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")
        if tag == "div" and dict(attrs).get("role") == "region":
            self._rows = self.tables.setdefault(dict(attrs)["aria-label"] or "", [])
        if tag == "tr":
            self._rows.append([])
        if tag in {"td", "th"}:
            self._rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "script" in self.open:
            self.scripts[-1] += data
        elif "style" not in self.open:
            self.text.append(data)
            if {"td", "th"} & set(self.open):
                self._rows[-1][-1] += data

    def table(self, title: str) -> dict[str, list[str]]:
        """A table's rows by their first cell."""
        return {row[0].strip(): [cell.strip() for cell in row[1:]] for row in self.tables[title]}

    def __contains__(self, words: str) -> bool:
        return words in " ".join("".join(self.text).split())


def page(folder: Path, only: Path, **options: Any) -> Page:
    write_report(only, output=folder / "report.html", **options)
    return Page((folder / "report.html").read_text(encoding="utf-8"))


def test_the_numbers_are_those_of_the_summary(tmp_path: Path) -> None:
    only = run(tmp_path / "a", {"x1": "mm", "x2": "mu", "y1": "mmm", "y2": "u?"})
    shown = page(tmp_path, only)
    metrics = shown.table("All metrics")
    # CSR: 1, 1/2, 1, 0 or 1/2. ISR: two of four met, as y2 is known to fail. DRFR: 6 or 7 of 9.
    assert metrics["constraints met"][0] == "62.50 to 75.00"
    assert metrics["constraints met"][2:] == ["mean of 4", "1 of 4"]
    assert metrics["responses fully met"][0] == "50.00"
    assert metrics["responses fully met"][2:] == ["2 / 4", ""]
    assert metrics["constraints met, pooled"][0] == "66.67 to 77.78"
    assert metrics["constraints met, pooled"][2:] == ["6 / 9", "1 of 9"]
    assert shown.table("Of all constraints")["a"] == ["6", "2", "1", "0", "0", "88.9"]


def test_why_verdicts_were_not_reached_is_listed_with_the_first_places(tmp_path: Path) -> None:
    rows = {f"x{n}": "m?" for n in range(9)}
    shown = page(tmp_path, run(tmp_path / "a", rows | {"y": "m"}))
    reasons = shown.table("Reasons")
    first = next(reason for reason in reasons if "? on x0" in reason)
    assert reasons[first] == ["x0, 2", "1"]
    clean = page(tmp_path, run(tmp_path / "b", {"x": "mm", "y": "mu"}))
    assert "Rows that came to nothing" not in clean.tables


def test_one_failure_of_one_is_not_the_hardest(tmp_path: Path) -> None:
    def one(number: int, text: str, letter: str) -> Sample:
        return sample(f"{text}-{number}", letter, checklist=(Constraint(text=text),))

    rows = [one(n, "hard", "u" if n < 16 else "m") for n in range(20)]
    rows += [one(n, "easy", "m") for n in range(20)]
    rows += [one(0, "once", "u"), *(one(n, "few", "u") for n in range(5))]
    shown = page(tmp_path, run(tmp_path / "a", rows))
    ranked = [row[0].strip() for row in shown.tables["Constraints"][1:]]
    # The upper end of 4 of 20 is 41.6 %, that of 0 of 5 43.4 %; a single verdict is not ranked.
    assert ranked == ["hard", "few", "easy"]
    assert shown.table("Constraints")["hard"] == ["words", "80.0", "58.4 to 91.9", "4", "16", "0"]


def test_examples_are_drawn_from_the_failures_and_as_many_as_asked(tmp_path: Path) -> None:
    rows = {f"x{n}": "mu" if n % 2 else "mm" for n in range(40)}
    only = run(tmp_path / "a", rows)
    shown = page(tmp_path, only, examples=5)
    assert "5 of 20 samples" in shown
    listed = {word for word in "".join(shown.text).split() if re.fullmatch(r"x\d+", word)}
    assert len(listed) == 5
    assert all(int(key[1:]) % 2 for key in listed)
    assert "answer x1" not in page(tmp_path, only, examples=0).text
    # Once as a whole, and at most once more among the three on the first page.
    assert page(tmp_path, only, examples=99).text.count("answer x1") in (1, 2)


def test_members_of_a_panel_that_disagree_are_shown(tmp_path: Path) -> None:
    said = ({"x": "mm", "y": "mu"}, {"x": "mu", "y": "mu"}, {"x": "mm", "y": "m?"})

    def member(name: str, letters: dict[str, str]) -> Told:
        return Told(lambda row, place: Status(STATES[letters[row.id][place]]), name)

    panel = Panel(*map(member, "abc", said))
    evaluate([sample("x", "mm"), sample("y", "mm")], judge=panel, run=tmp_path / "a")
    shown = page(tmp_path, tmp_path / "a")
    # Three votes on each of four constraints; c did not decide one, b alone said unmet once.
    assert shown.table("Votes")["b"] == ["2", "2", "0", "75.00"]
    assert shown.table("Votes")["c"] == ["3", "0", "1", "100.00"]
    split = shown.table("Verdicts that were not unanimous")
    assert split["x, 2"] == ["Constraint 1.", "a: met; b: unmet; c: met", "met"]
    assert len(split) == 2


HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</script><script>alert(1)</script>",
    "</title></style></textarea><svg onload=alert(1)>",
    "{{ 7 * 7 }} {% raw %}",
    "\x00\x07\x1b[31m",
    "\u202egnirts desrever\u202c \u2066",
    "شكرا جزيلا على السؤال",
    "Z" + "\u0335\u0341" * 200,
    "w" * 100_000,
    "<!-- ]]> -->",
)

texts = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=80),
)


@pytest.mark.slow
@of_a_hundred(12)
@given(words=st.lists(texts, min_size=7, max_size=7))
def test_whatever_rows_hold_is_text_and_nothing_else(
    words: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("runs")
    key, prompt, asked, kind, response, found, tag = words
    plain = page(folder, run(folder / "plain", hostile("k", "p", "a", "t", "r", "f", "g")))
    shown = page(
        folder, run(folder / "run", hostile(key, prompt, asked, kind, response, found, tag))
    )
    assert shown.tags <= plain.tags | {"span", "wbr"}
    known = plain.attributes.keys() | {"dir"}
    assert shown.attributes.keys() <= known
    assert not any(name.startswith("on") for name in shown.attributes)
    assert shown.attributes["class"] <= plain.attributes["class"] | {"control", "quiet", "words"}
    assert not shown.open


def hostile(*words: str) -> list[Sample]:
    key, prompt, asked, kind, response, found, tag = words
    return [
        Sample(
            id=f"{key}{number}",
            conversation=(
                Message(role="system", content=prompt),
                Message(role="user", content=prompt),
            ),
            checklist=(Constraint(text=asked, type=kind or None), Constraint(text=asked)),
            response=response,
            tags={"task": f"{tag}{number % 2}"},
            recording=Recording(
                prompt="native",
                verdicts=(
                    {"status": "unmet", "explanation": found},
                    {"status": "unparsed", "explanation": found},
                ),
            ),
        )
        for number in range(4)
    ]


@given(st.text())
def test_what_was_said_can_be_read_back(text: str) -> None:
    class Reader(HTMLParser):
        text, named = "", False

        def handle_starttag(self, _tag: str, _attrs: object) -> None:
            self.named = True

        def handle_endtag(self, _tag: str) -> None:
            self.named = False

        def handle_data(self, data: str) -> None:
            self.text += chr(int(data.removeprefix("U+"), 16)) if self.named else data

    reader = Reader()
    reader.feed(str(said(text)))
    reader.close()
    assert reader.text == text.replace("\r\n", "\n")


def test_the_page_asks_for_nothing_and_runs_only_its_own_scripts(tmp_path: Path) -> None:
    shown = page(tmp_path, run(tmp_path / "a", {"x": "mu", "y": "mm"}))
    (policy,) = [value for value in shown.attributes["content"] if "default-src" in value]
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    code = [script for script in shown.scripts if not script.startswith("{")]
    digests = {
        f"'sha256-{b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in code
    }
    assert len(code) == 5
    assert digests == set(re.search(r"script-src ([^;]*)", policy)[1].split())  # type: ignore[index]
    assert "src" not in shown.attributes
    assert all(link.startswith("#") for link in shown.attributes["href"])


def test_without_charts_the_file_is_small_and_has_the_same_tables(tmp_path: Path) -> None:
    only = run(tmp_path / "a", {f"x{n}": "mu" if n % 3 else "mm" for n in range(30)})
    whole = page(tmp_path, only)
    size = (tmp_path / "report.html").stat().st_size
    small = page(tmp_path, only, charts=False)
    assert whole.tables == small.tables
    assert "figure" not in small.tags
    assert (tmp_path / "report.html").stat().st_size < size / 10


def test_the_same_run_gives_the_same_page(tmp_path: Path) -> None:
    only = run(tmp_path / "a", {f"x{n}": "mu" if n % 3 else "m?" for n in range(30)})
    pages = []
    for _ in range(2):
        write_report(only, output=tmp_path / "report.html")
        pages.append((tmp_path / "report.html").read_bytes())
    assert pages[0] == pages[1]


@pytest.mark.parametrize(
    ("output", "options", "message"),
    [
        ("report.pdf", {}, "name an .html file"),
        ("nowhere/report.html", {}, "make it first"),
        ("report.html", {"examples": -1}, "give 0 or more"),
    ],
)
def test_what_cannot_be_written_is_refused_with_the_mend(
    output: str, options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    only = run(tmp_path / "a", {"x": "m"})
    with pytest.raises(UsageError, match=message):
        write_report(only, output=tmp_path / output, **options)


def test_runs_that_cannot_be_shown_are_refused_with_the_mend(tmp_path: Path) -> None:
    output = tmp_path / "report.html"
    with pytest.raises(RunError, match="nowhere"):
        write_report(tmp_path / "nowhere", output=output)
    only = run(tmp_path / "a", {"x": "m"})
    (only / "summary.json").unlink()
    with pytest.raises(RunError, match="not finished"):
        write_report(only, output=output)
    for command, hint in (
        ("bench realcritic run", "heedful bench realcritic report"),
        ("respond", "name a run of heedful evaluate"),
    ):
        with Store(tmp_path / command.replace(" ", "-")) as store:
            store.configure({"command": command})
        with pytest.raises(RunError, match=hint):
            write_report(tmp_path / command.replace(" ", "-"), output=output)
    assert not output.exists()


def quickstart(folder: Path) -> Path:
    rows = [sample(f"x{n}", "mu" if n else "m?") for n in range(4)]
    file = folder / "rows.jsonl"
    file.write_text(
        "".join(
            json.dumps(
                {
                    "id": row.id,
                    "response": row.response,
                    "checklist": [{"text": "No commas.", "check": {"id": "punctuation:no_comma"}}],
                }
            )
            + "\n"
            for row in rows
        )
        + "not JSON\n",
        encoding="utf-8",
    )
    return file


def test_the_command_line_records_the_command_and_says_what_it_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MY_API_KEY", "hunter2-hunter2")
    file, directory, output = quickstart(tmp_path), tmp_path / "run", tmp_path / "r.html"
    words = ["evaluate", str(file), "--judge=rules", "--run", str(directory), "--quiet"]
    hidden = ["--api-key", "sk-first", "--header", "Authorization=sk-second"]
    hidden += ["--base-url", "https://u:sk-third@host/v1?key=sk-fourth"]
    assert commands.run(*words, *hidden) == 1
    capsys.readouterr()
    assert commands.run("report", str(directory), "-o", str(output)) == 1
    told = capsys.readouterr()
    assert told.out.startswith(f"4 samples → {output} (")
    assert told.err.startswith("1 row ")
    html = output.read_text(encoding="utf-8")
    assert "sk-" not in html
    assert "sk-" not in json.dumps(Reader(directory).meta("sessions"))
    shown = Page(html)
    assert f"heedful evaluate {file} --judge=rules" in shown
    assert "--base-url https://host/v1" in shown
    assert shown.table("Rows that came to nothing")["5"]
    assert "1 row unread" in shown
    assert shown.table("Configuration")["judge"] == ["rules"]
    assert shown.table("Input")["rows.jsonl"][0] == Reader(directory).meta("config")["input"][0]


def test_a_session_that_was_killed_has_no_end(tmp_path: Path) -> None:
    only = run(tmp_path / "a", {"x": "mm"})
    with Store(only) as store:
        (session,) = store.meta("sessions")
        killed = session | {"seconds": None, "command": ["evaluate", "a file.jsonl"]}
        store.set_meta("sessions", [killed, session])
    shown = page(tmp_path, only)
    assert shown.tables["Sessions"][1][1] == "did not end"
    assert "heedful evaluate 'a file.jsonl'" in shown


secret = st.text("abcdefghij0123456789", min_size=12, max_size=20)


@given(secret, st.sampled_from(["--api-key", "-k", "--header", "--api_key"]), st.sampled_from("= "))
def test_no_secret_is_kept_of_a_command(value: str, option: str, sign: str) -> None:
    words = f"{option}{sign}{value}".split()
    kept = without_secrets(["evaluate", *words, "--max-completion-tokens", "8", "-q"])
    assert value not in " ".join(kept)
    assert kept[-3:] == ("--max-completion-tokens", "8", "-q")


def test_the_scripts_are_those_that_the_readme_names() -> None:
    named = re.findall(r"^\| (\S+\.min\.js) .* (\w{64}) \|$", readme(), re.MULTILINE)
    assert {name for name, _ in named} == {path.name for path in ASSETS.glob("*.min.js")}
    for name, digest in named:
        assert hashlib.sha256((ASSETS / name).read_bytes()).hexdigest() == digest, name
        assert (ASSETS / name.replace(".min.js", ".LICENSE")).is_file()


def readme() -> str:
    return (ASSETS / "README.md").read_text(encoding="utf-8")
