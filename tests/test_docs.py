"""What the documentation says can be typed works, and its references are those of the code."""

import ast
import doctest
import importlib
import importlib.util
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from cyclopts import CycloptsError

import heedful
from doc_blocks import OTHER_KINDS, PAGES, ROOT, RUN_KINDS, Block, Reader, blocks, commands
from heedful import Message
from heedful.cli import application
from heedful.models import OpenAIModel
from jsonl import write_rows

GUIDES = {path.name for path in (ROOT / "docs").glob("*.md")} - {
    "quickstart.md",
}
"""Pages about the reader's own files: they find some, under the names that the pages use."""

STAGE = """
heedful evaluate data.jsonl --run runs/mine
heedful checklist prompts.jsonl --model large -o checklists.jsonl
heedful respond checklists.jsonl --model gpt-4o --model haiku -o responses.jsonl
heedful critic sample responses.jsonl --model expert -o critiques.jsonl
heedful critic filter critiques.jsonl --model expert --verifier large --skip rules -o filtered.jsonl
heedful critic sample filtered.jsonl --model small --samples 5 -o sampled.jsonl
heedful evaluate responses.jsonl --judge rules,compiled --run runs/rules
heedful evaluate responses.jsonl --judge rules,checklist --model large --run runs/critic
heedful evaluate responses.jsonl --judge rules,checklist --model large --run runs/mixed
heedful respond checklists.jsonl --model gpt-4o -o gpt.jsonl
heedful respond checklists.jsonl --model haiku -o haiku.jsonl
heedful respond checklists.jsonl --model small -o small.jsonl
heedful evaluate gpt.jsonl --judge rules,checklist --model large --run runs/gpt
heedful evaluate haiku.jsonl --judge rules,checklist --model large --run runs/haiku
heedful evaluate gpt.jsonl --judge rules,checklist --model large --run runs/a
heedful evaluate haiku.jsonl --judge rules,checklist --model large --run runs/b
heedful evaluate small.jsonl --judge rules,checklist --model large --run runs/c
"""

FLAGS_OF_OTHERS = {
    "--flash-attn",
    "--help",
    "--no-build-isolation",
    "--remote_rm_url",
    "--reward",
    "--served-model-name",
    "--strict",
}

IFEVAL = {
    "input_data.jsonl": {
        "key": 1,
        "prompt": "Name two rivers. No commas.",
        "instruction_id_list": ["punctuation:no_comma"],
        "kwargs": [{}],
    },
    "input_response_data.jsonl": {
        "prompt": "Name two rivers. No commas.",
        "response": "The Rhine and the Elbe.",
    },
}


MOCK = runpy.run_path(str(ROOT / "examples" / "mock_server.py"))


@pytest.fixture(scope="module")
def mock() -> Iterator[str]:
    """The address at which the mock server answers."""
    with MOCK["Server"](("127.0.0.1", 0), MOCK["Handler"]) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def stage(mock: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files under the names that the guides use, made of our examples."""
    folder = tmp_path_factory.mktemp("stage")
    shutil.copytree(ROOT / "examples", folder / "examples")
    for name, source in (
        ("data", "quickstart"),
        ("prompts", "prompts"),
        ("mine", "quickstart"),
        ("labelled", "labelled"),
        ("gsm8k", "solutions"),
        ("math", "solutions"),
    ):
        shutil.copy(ROOT / "examples" / f"{source}.jsonl", folder / f"{name}.jsonl")
    for name, record in IFEVAL.items():
        write_rows(folder / name, [record])
    (folder / "prices.json").write_text('{"critic": {"prompt": 1, "completion": 2}}')
    before = Path.cwd()
    os.chdir(folder)
    try:
        reader = Reader(folder, mock, stands_in=True)
        reader.run(Block(ROOT / "stage", "sh", STAGE, 1, None))
    finally:
        os.chdir(before)
    return folder


def all_blocks(page: Path) -> list[Block]:
    return [block for block in blocks(page) if block.kind in RUN_KINDS]


PAGES_TO_RUN = [page for page in PAGES if any(item.reason is None for item in all_blocks(page))]


def name(page: Path) -> str:
    """A page's path in the project."""
    return str(page.relative_to(ROOT))


@pytest.mark.docs
@pytest.mark.parametrize("page", PAGES_TO_RUN, ids=name)
def test_what_a_page_says_can_be_typed(
    page: Path,
    mock: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "here"
    guide = page.name in GUIDES and page.parent == ROOT / "docs"
    if guide:
        shutil.copytree(request.getfixturevalue("stage"), folder)
    else:
        shutil.copytree(ROOT / "examples", folder / "examples")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(os, "environ", os.environ.copy())
    MOCK["Handler"].seen.clear()  # as after its start
    reader = Reader(folder, mock, stands_in=guide)
    for block in all_blocks(page):
        if block.reason is None:
            reader.run(block)


def test_the_readme_shows_what_the_quick_start_prints() -> None:
    fenced = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    shown, printed = (
        {line for block in fenced.findall(page.read_text("utf-8")) for line in block.splitlines()}
        for page in (ROOT / "README.md", ROOT / "docs" / "quickstart.md")
    )
    assert {line for line in shown if "%" in line or " met " in line} <= printed


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_that_are_not_run_are_commands(page: Path) -> None:
    app = application()
    for block in all_blocks(page):
        if block.kind != "sh" or block.reason is None:
            continue
        for command in commands(block.code):
            words = shlex.split(command, comments=True)
            if words[0] == "heedful":
                try:
                    app.parse_args(words[1:], exit_on_error=False, print_error=False)
                except CycloptsError as error:
                    pytest.fail(f"{block.place}: {command}: {error}")
            elif words[0] == "python" and words[1].startswith("benchmarks/"):
                text = (ROOT / words[1]).read_text(encoding="utf-8")
                missing = [word for word in words if word.startswith("--") and word not in text]
                assert not missing, f"{block.place}: {words[1]} knows no {missing}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_flags_in_the_text_are_flags(page: Path) -> None:
    scripts = "".join(path.read_text("utf-8") for path in (ROOT / "benchmarks").glob("*.py"))
    known = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    result = set(re.findall(r"(?<=`)--[a-z][a-z0-9_-]+", prose(page))) - FLAGS_OF_OTHERS
    assert not {flag for flag in result if f"`{flag}`" not in known and f'"{flag}"' not in scripts}


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=name)
def test_programs_that_are_not_run_import_what_there_is(page: Path) -> None:
    for block in all_blocks(page):
        if block.kind != "python" or block.reason is None:
            continue
        for node in ast.walk(ast.parse(block.code, block.place)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("heedful"):
                try:
                    module = importlib.import_module(node.module or "")
                except ModuleNotFoundError as error:  # a framework that no extra installs
                    assert not (error.name or "").startswith("heedful"), block.place  # noqa: PT017
                    continue
                missing = [each.name for each in node.names if not hasattr(module, each.name)]
                assert not missing, f"{block.place}: {node.module} has no {missing}"


def test_every_block_is_run_or_says_why_not(capsys: pytest.CaptureFixture[str]) -> None:
    result = [block for page in PAGES for block in blocks(page)]
    unknown = [block.place for block in result if block.kind not in RUN_KINDS | OTHER_KINDS]
    assert not unknown
    assert all(block.reason != "" for block in result)
    counts = Counter(block.reason for block in result if block.kind in RUN_KINDS)
    with capsys.disabled():
        sys.stdout.write(f"\ndocs: {counts.pop(None)} blocks run, {counts.total()} not run: ")
        sys.stdout.write("; ".join(f"{why} ({n})" for why, n in counts.most_common()) + "\n")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        path, _, anchor = target.partition("#")
        if re.match(r"\w+:", target):
            continue
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), f"{name(page)}: {target}"
        if anchor and linked.suffix == ".md":
            assert anchor in anchors(linked), f"{name(page)}: {target}"


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    fenced = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
    return fenced.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(
        r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in titles}


def test_every_page_is_in_the_navigation() -> None:
    settings = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    named = set(re.findall(r'= "([\w/]+\.md)"', settings))
    assert named == {str(page.relative_to(ROOT / "docs")) for page in PAGES[1:]}


@pytest.mark.slow
def test_the_mock_server_answers_as_a_script(tmp_path: Path) -> None:
    script = [sys.executable, str(ROOT / "examples" / "mock_server.py"), "0"]
    with subprocess.Popen(script, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            address = process.stderr.readline().split()[-1]
            prompts = [heedful.Sample(id="1", conversation=(Message(role="user", content="Hi."),))]
            model = OpenAIModel("large", base_url=address)
            [row] = heedful.respond(prompts, models=[model], run=tmp_path / "run")
            assert row.problem is None
        finally:
            process.terminate()


@pytest.mark.slow
def test_the_command_line_reference_is_that_of_the_code() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "cli_reference.py"), "--check"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_the_python_reference_has_all_public_names() -> None:
    text = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^::: heedful\.(\w+)$", text, re.MULTILINE))
    assert {each for each in heedful.__all__ if each != "__version__"} <= named


@pytest.mark.docs
def test_the_site_is_built_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    if importlib.util.find_spec("zensical") is None:
        pytest.skip("the site's generator is not installed (pip install 'heedful[docs]')")
    for folder in ("docs", "src", "tools"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    shutil.copy(ROOT / "zensical.toml", tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict"],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > len(PAGES) - 2
    for page in pages:
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(
            r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"(?:https?:)?//[^\"]*", text
        )
        loaded += re.findall(r"<link\b[^>]*\bhref=\"(?:https?:)?//[^\"]*", text)
        assert not loaded, page


SOURCE = Path(__file__).resolve().parents[1] / "src"


@pytest.mark.slow
def test_examples_in_docstrings_print_what_they_say() -> None:
    attempted = 0
    for path in sorted(SOURCE.rglob("*.py")):
        if ">>>" in path.read_text(encoding="utf-8"):
            name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
            module = importlib.import_module(name.removesuffix(".__init__"))
            result = doctest.testmod(module)
            assert not result.failed, name
            attempted += result.attempted
    assert attempted
