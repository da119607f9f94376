"""The plan of the house: arrows point downward, no circles, and start-up stays light."""

import subprocess
import sys
from pathlib import Path

import pytest

import house

SOURCE = house.SOURCE
MODULES = house.read()

LONG_FUNCTIONS = {
    "analysis.compare.job.compare": "its docstring holds an example that is run, and eight options",
    "cli.judge_accuracy.judge_accuracy": "two thirds are its flags and their help",
    "engine.runner.run": "its workers share the state of one loop",
}
"""Functions that are longer than others may be, and why."""

HEAVY = (
    "numpy",
    "langdetect",
    "nltk",
    "rich",
    "pydantic",
    "cyclopts",
    "asyncio",
    "sqlite3",
    "aiohttp",
    "torch",
    "transformers",
    "trl",
    "any_llm",
    "starlette",
    "uvicorn",
    "jinja2",
    "markupsafe",
)


def test_every_module_lies_in_a_room() -> None:
    rooms = {module.room for module in MODULES.values()} - set(house.ENTRANCE)
    assert rooms == set(house.ROOMS)


def test_every_folder_has_its_place_in_the_room() -> None:
    places = {(module.room, module.folder) for module in MODULES.values()}
    for room, folder in places - {(room, "") for room, _ in places}:
        assert folder in house.FOLDERS[room]


def test_no_module_imports_from_above() -> None:
    assert house.upward(MODULES) == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert house.circles(MODULES) == []


def test_a_class_name_means_one_thing() -> None:
    assert house.shared_class_names(MODULES) == []


@pytest.mark.slow
def test_no_benchmark_is_a_branch_outside_its_family() -> None:
    assert house.benchmarks_named() == []


def test_signatures_stay_short_and_rooms_apart() -> None:
    """Eight parameters or more are two subjects; the few there are take the fields of a noun."""
    assert len(house.long_signatures(MODULES)) < 12
    assert len(house.arrows(MODULES)) <= 100


def test_files_and_functions_have_one_subject() -> None:
    assert house.long_files(MODULES) == {}
    assert house.long_functions(MODULES).keys() - LONG_FUNCTIONS.keys() == set()


def test_modules_export_only_what_another_room_uses() -> None:
    root = SOURCE.parents[1]
    users = [
        path for each in ("examples", "benchmarks", "tools") for path in (root / each).rglob("*.py")
    ]
    assert house.needless_exports(MODULES, users) == []


@pytest.mark.slow
@pytest.mark.parametrize("planted", ["core.errors imports cli", "jobs imports the package root"])
def test_an_import_from_above_is_found(planted: str) -> None:
    name, _, other = planted.partition(" imports ")
    modules = house.read()
    modules[name].imports.add("" if other == "the package root" else other)
    assert planted in house.upward(modules)


@pytest.mark.slow
def test_a_circle_is_found() -> None:
    modules = house.read()
    modules["core.errors"].imports.add("core.nouns")
    modules["core.nouns"].imports.add("core.errors")
    assert any({"core.errors", "core.nouns"} <= set(circle) for circle in house.circles(modules))


def test_folders_are_three_levels_deep_at_most() -> None:
    assert not [name for name in MODULES if name.count(".") > 2]


def loaded(code: str) -> set[str]:
    """The top-level modules loaded after running code in a new interpreter."""
    code += "\nimport sys; print('\\n'.join(sorted({name.split('.')[0] for name in sys.modules})))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert not loaded("import heedful; heedful.__version__; dir(heedful)") & set(HEAVY)


def test_help_loads_neither_statistics_nor_models() -> None:
    code = (
        "import contextlib, io\n"
        "from heedful.cli import main\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
        "    main(['--help'])"
    )
    assert not loaded(code) & {"numpy", "langdetect", "nltk", "pydantic", "sqlite3"}


@pytest.mark.slow
def test_settings_of_a_training_load_no_trainer() -> None:
    result = loaded("from heedful.critic.training import SftSettings; SftSettings(max_steps=1)")
    assert not result & {"numpy", "torch", "transformers", "trl", "datasets"}


@pytest.mark.slow
def test_judging_by_code_and_describing_a_model_load_no_http_client(tmp_path: Path) -> None:
    example = SOURCE.parents[1] / "examples" / "quickstart.jsonl"
    code = (
        "import contextlib, io\n"
        "from heedful.cli import main\n"
        f"command = ['evaluate', {str(example)!r}, '--judge=rules', '--run', {str(tmp_path)!r}]\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
        "    main(command)\n"
        "import sys\n"
        "assert not [name for name in sys.modules if name.startswith('heedful.judges.prompts.')]\n"
        "from heedful.models import OpenAIModel\n"
        "OpenAIModel('a-model')"
    )
    assert not loaded(code) & {"aiohttp", "emoji", "HanTa", "syllapy"}
    assert (tmp_path / "run.sqlite").exists()


def test_every_public_name_can_be_imported_and_is_documented() -> None:
    import heedful

    for name in heedful.__all__:
        value = getattr(heedful, name)
        assert name.startswith("__") or value.__doc__, name
    assert set(heedful.__all__) <= set(dir(heedful))
    with pytest.raises(AttributeError, match="no_such_name"):
        heedful.no_such_name  # noqa: B018
