"""Measure the structure of the package: size, rooms, arrows between them, circles, long signatures.

python tools/house.py             # one table
python tools/house.py --list      # the same, and what stands behind each count
python tools/house.py --src PATH  # another checkout's src/heedful

A room is a top folder of the package, or a module that lies loose beside them. An arrow is a pair
of rooms of which one imports the other, wherever in a module it does; it points upward where
ROOMS names the imported room later. A circle is a set of modules that import each other, in type
checking too. A parameter that collects keywords counts as one.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

SOURCE = Path(__file__).resolve().parents[1] / "src" / "heedful"

ROOMS = (
    "core",
    "metrics",
    "verify",
    "models",
    "data",
    "engine",
    "reporting",
    "judges",
    "jobs",
    "analysis",
    "critic",
    "bench",
    "rewards",
    "pages",
    "cli",
)
"""The rooms from the first floor up; a room uses rooms named before it, never one after."""

FOLDERS = {
    "metrics": ("", "families"),
    "verify": ("text", "", "custom", "ifbench", "ifeval", "compiler"),
    "models": ("", "batches"),
    "data": ("", "formats"),
    "reporting": ("html", ""),
    "judges": ("prompts", ""),
    "jobs": ("", "checklists"),
    "analysis": ("", "compare", "meta", "align"),
    "critic": ("", "data", "training", "building"),
    "bench": ("", "grading", "criticbench", "realcritic"),
    "rewards": ("", "server"),
    "pages": ("", "report", "viewer"),
}
"""The same inside a room, for its folders; the empty name is the room's own modules."""

FAMILIES = "metrics/families"
"""A file for each benchmark, called by its name."""

NAMES_ALLOWED = (
    FAMILIES,
    "metrics/general.py",  # the rates that every run has
    "data/formats",  # a reader for each benchmark's files
    "judges/prompts",  # published prompts are named so
    "verify",  # published verifiers are
    "cli",  # help and lists
    "critic/data/experts.py",  # names of prompts
    "jobs/results.py",  # the format of a file that is written
)
"""Where a benchmark may be named in code: everywhere else a family says what is different."""

ENTRANCE = ("__init__", "__main__", "integrations")
"""Modules at the top that lead into the house: the public API and ``python -m``, and adapters for
other tools, which use the public API as their users do."""

MANY_PARAMETERS = 8

MOST_LINES = 700
"""Of a file; a longer one has two subjects."""

MOST_FUNCTION_LINES = 60
"""Of a function, with its signature and docstring."""


@dataclass
class Module:
    """One module of the package.

    Attributes:
        name: dotted, without the package's own name.
        package: whether it is a folder's ``__init__``.
        text: of the file.
        tree: its code, parsed.
        imports: the modules of the package that it imports, by name.
    """

    name: str
    package: bool
    text: str
    tree: ast.Module
    imports: set[str] = field(default_factory=set)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes of its code; the counts would otherwise walk through it again each."""
        return tuple(ast.walk(self.tree))

    @property
    def code(self) -> int:
        """The lines that are neither blank nor a comment nor a docstring."""
        prose: set[int] = set()
        for node in self.nodes:
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                prose |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        lines = enumerate(self.text.splitlines(), 1)
        return sum(
            bool(line.strip()) and line.strip()[0] != "#" for n, line in lines if n not in prose
        )

    @property
    def room(self) -> str:
        """The top folder that it lies in, or its own name where it lies loose."""
        return self.name.partition(".")[0] or "__init__"

    @property
    def folder(self) -> str:
        """The folder that it lies in within its room; empty for the room itself."""
        parts = self.name.split(".")[1:]
        return ".".join(parts if self.package else parts[:-1])


def read(source: Path = SOURCE) -> dict[str, Module]:
    """Parse all modules of a package and resolve what they import of each other."""
    modules = {}
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        package = parts[-1] == "__init__"
        text = path.read_text(encoding="utf-8")
        name = ".".join(parts[:-1] if package else parts)
        modules[name] = Module(name, package, text, ast.parse(text))
    for module in modules.values():
        module.imports = set(_imports(module, modules, source.name)) - {module.name}
    return modules


def _imports(module: Module, modules: Mapping[str, Module], package: str) -> Iterator[str]:
    for node in module.nodes:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            first, _, known = name.partition(".")
            if first != package:
                continue
            while known not in modules:
                known = known.rpartition(".")[0]
            yield known


def arrows(modules: Mapping[str, Module]) -> dict[tuple[str, str], list[str]]:
    """Pair the rooms that import each other; the values name the modules that do."""
    pairs = defaultdict(list)
    for module in modules.values():
        for other in sorted(module.imports):
            pair = module.room, modules[other].room
            if pair[0] != pair[1] and module.room not in ENTRANCE:
                pairs[pair].append(f"{module.name} imports {other or 'the package root'}")
    return pairs


def upward(modules: Mapping[str, Module]) -> list[str]:
    """Name the imports against the order of the rooms, or of the folders in a room.

    The package root counts as the top floor: what imports it imports everything.
    """
    return [
        f"{module.name} imports {other or 'the package root'}"
        for module in modules.values()
        for other in sorted(module.imports)
        if module.room not in ENTRANCE and _is_upward(module, modules[other])
    ]


def _is_upward(module: Module, other: Module) -> bool:
    if module.room != other.room:
        floors = {room: floor for floor, room in enumerate(ROOMS)}
        return floors.get(other.room, len(ROOMS)) > floors.get(module.room, len(ROOMS))
    order = FOLDERS.get(module.room)
    if order is None or module.folder == other.folder:
        return False
    return order.index(other.folder) > order.index(module.folder)


def circles(modules: Mapping[str, Module]) -> list[list[str]]:
    """Find the sets of modules that import each other (strongly connected components).

    The package root imports nothing until a name is used, so it closes no circle.
    """
    cycles: list[list[str]] = []
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []

    def visit(name: str) -> None:
        number[name] = lowest[name] = len(number)
        path.append(name)
        for other in sorted(modules[name].imports - {""}):
            if other not in number:
                visit(other)
            if other in path:
                lowest[name] = min(lowest[name], lowest[other])
        if lowest[name] == number[name]:
            component = path[path.index(name) :]
            del path[path.index(name) :]
            if len(component) > 1:
                cycles.append(sorted(component))

    for name in modules:
        if name not in number:
            visit(name)
    return cycles


def benchmarks_named(source: Path = SOURCE) -> list[str]:
    """List the modules whose code, not their docstrings, names a benchmark that has a family."""
    names = [path.stem for path in (source / FAMILIES).glob("[a-z]*.py") if path.stem != "rubric"]
    word = re.compile("|".join(names), re.IGNORECASE)
    found = []
    for path in sorted(source.rglob("*.py")):
        place = path.relative_to(source).as_posix()
        if place.startswith(NAMES_ALLOWED):
            continue
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        written = [
            *(getattr(node, field, None) for node in nodes for field in ("id", "attr", "name")),
            *(
                node.value
                for node in nodes
                if isinstance(node, ast.Constant) and id(node) not in docstrings
            ),
        ]
        found += [
            f"{place}: {text}" for text in written if isinstance(text, str) and word.search(text)
        ]
    return found


def long_signatures(modules: Mapping[str, Module]) -> list[str]:
    """Name the functions with :data:`MANY_PARAMETERS` or more parameters, ``self`` aside.

    Commands are left out: each of their parameters is a flag.
    """
    named = []
    for module in modules.values():
        if module.room == "cli":
            continue
        for node in module.nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                arguments = node.args
                every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
                count = sum(each.arg not in ("self", "cls") for each in every)
                count += (arguments.vararg is not None) + (arguments.kwarg is not None)
                if count >= MANY_PARAMETERS:
                    named.append(f"{module.name}:{node.lineno} {node.name} ({count})")
    return named


def long_files(modules: Mapping[str, Module]) -> dict[str, int]:
    """Return the modules with more than :data:`MOST_LINES` lines, and how many they have."""
    counts = {name: module.text.count("\n") for name, module in modules.items()}
    return {name: count for name, count in counts.items() if count > MOST_LINES}


def long_functions(modules: Mapping[str, Module]) -> dict[str, int]:
    """Return the functions with more than :data:`MOST_FUNCTION_LINES` lines, likewise."""
    counts = {
        f"{module.name}.{node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for module in modules.values()
        for node in module.nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    return {name: count for name, count in counts.items() if count > MOST_FUNCTION_LINES}


def shared_class_names(modules: Mapping[str, Module]) -> list[str]:
    """Name the classes that several modules define."""
    where = defaultdict(set)
    for module in modules.values():
        for node in module.nodes:
            if isinstance(node, ast.ClassDef):
                where[node.name].add(module.name)
    return [f"{name}: {', '.join(sorted(at))}" for name, at in sorted(where.items()) if len(at) > 1]


def exported(modules: Mapping[str, Module]) -> list[str]:
    """Name what ``__all__`` lists, in all modules."""
    names = []
    for module in modules.values():
        for node in module.tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else []
            targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
            if any(isinstance(each, ast.Name) and each.id == "__all__" for each in targets):
                value = getattr(node, "value", None)
                listed = value.elts if isinstance(value, ast.List | ast.Tuple) else []
                names += [f"{module.name}.{ast.literal_eval(each)}" for each in listed]
    return names


def needless_exports(modules: Mapping[str, Module], users: Iterable[Path]) -> list[str]:
    """Name what a module lists in ``__all__`` although nobody outside its room imports it.

    Packages are left out: what they list is re-exported, and a type checker asks for that.

    Args:
        modules: the package.
        users: other code that may import its names, such as examples and benchmarks.
    """
    used: set[tuple[str, str]] = set()
    texts = [path.read_text(encoding="utf-8") for path in users]
    trees: list[tuple[str, Iterable[ast.AST]]]
    trees = [(module.room, module.nodes) for module in modules.values()]
    trees += [("", ast.walk(ast.parse(text))) for text in texts]
    for room, nodes in trees:
        for node in nodes:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(SOURCE.name):
                name = (node.module or "").removeprefix(SOURCE.name).removeprefix(".")
                if name.partition(".")[0] != room:
                    used |= {(name, alias.name) for alias in node.names}
    packages = {module.name for module in modules.values() if module.package}
    needless = []
    for name in exported(modules):
        home, _, last = name.rpartition(".")
        room, _, stem = home.rpartition(".")
        if home not in packages and not {(home, last), (room, stem)} & used:
            needless.append(name)
    return needless


def _counted(counts: Mapping[str, int]) -> list[str]:
    return [f"{name} ({count})" for name, count in counts.items()]


def measure(modules: Mapping[str, Module]) -> dict[str, list[str] | int]:
    """Count everything; a list's length is its count, and its items say what was counted."""
    return {
        "lines of source": sum(module.text.count("\n") for module in modules.values()),
        "lines of code": sum(module.code for module in modules.values()),
        "modules": len(modules),
        "rooms": sorted({module.room for module in modules.values()} - set(ENTRANCE)),
        "arrows between rooms": [f"{a} → {b}" for a, b in sorted(arrows(modules))],
        "upward imports": upward(modules),
        "circles of files": [", ".join(circle) for circle in circles(modules)],
        f"functions with {MANY_PARAMETERS} or more parameters": long_signatures(modules),
        f"files of more than {MOST_LINES} lines": _counted(long_files(modules)),
        f"functions of more than {MOST_FUNCTION_LINES} lines": _counted(long_functions(modules)),
        "class names in several modules": shared_class_names(modules),
        "names in __all__": exported(modules),
    }


def _lines(measured: Mapping[str, list[str] | int], *, listed: bool) -> Iterable[str]:
    for name, value in measured.items():
        count = value if isinstance(value, int) else len(value)
        yield f"{count:>7,}  {name}"
        if listed and not isinstance(value, int) and not name.startswith("names"):
            yield from (f"           {item}" for item in value)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--src", type=Path, default=SOURCE, help="the package's folder")
    parser.add_argument("--list", action="store_true", help="name what was counted")
    options = parser.parse_args()
    print("\n".join(_lines(measure(read(options.src)), listed=options.list)))


if __name__ == "__main__":
    main()
