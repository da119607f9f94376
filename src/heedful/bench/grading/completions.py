"""Whole programs out of what models write: fenced or not, with prose around, indented or not."""

from __future__ import annotations

import ast
import builtins
import re
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from heedful.core.problems import Problem


LONGEST = 30_000
"""Characters of a text in which code is searched for; a longer one is taken as it is."""

_OPEN_PIECES = 50
"""Pieces of a text that one statement may extend over, with a bracket or a string left open."""

_OPEN_STATEMENTS = 20
"""Statements of a text that may do so."""

_CUTS = 20
"""Ends of a body that are tried, from the last."""

_FENCE = re.compile(
    r"^[ \t]*(`{3,}+|~{3,}+)[^\n]*+\n(?P<code>.*?)(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
_MARGIN = re.compile(r"^[ \t\u00a0]+", re.MULTILINE)
_OPEN = re.compile(r"^@|\"\"\"|'''|[(\[{,\\][ \t]*$", re.MULTILINE)
_CONTINUES = re.compile(r"(?:else|elif|except|finally)\b")
_LOOKS_LIKE_CODE = re.compile(
    r"(?:(?:async[ ]+)?def|class)\s+\w+\s*[(:]|import\s+\w|from\s+[\w.]+\s+import\b|@\w|\w+\s*=[^=]"
)
_BINDING = re.compile(r"\b(?:def|class|import|as|for)\s+(\w+)|\b(\w+)\s*=[^=]|\bimport\s+(.+)")
_KEYWORDS = re.compile(
    r"(?:assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|"
    r"if|import|lambda|nonlocal|not|pass|raise|return|try|while|with|yield)\b"
)


def completed(problem: Problem, text: str) -> str:
    """Make a whole program of a problem's prompt and what a model wrote for it.

    Code that defines the function, in a fenced block or between prose, is the program, below the
    imports and helpers that the prompt has above it and other blocks that it uses. A method of a
    class is the function, too (``class Solution``). Anything else continues the prompt, as
    HumanEval's completions do, or is the function's body without its indentation.
    """
    defines = _definition(problem)
    name = re.escape(problem.entry_point or "")
    assigned = re.compile(rf"^{name}[ \t]*(?::[^=\n]+)?=[^=]", re.MULTILINE)
    text = _MARGIN.sub(lambda m: m.group().replace("\N{NO-BREAK SPACE}", " "), text)
    blocks = [textwrap.dedent(match["code"]) for match in _FENCE.finditer(text)]
    for code in [*reversed(blocks), text]:
        if defines.search(code) or assigned.search(code):
            above = setup(problem)
            program = _code_around(above, code, defines)
            return f"{above}\n{_needed(above + program, blocks)}{program}\n"
    for code in [*reversed(blocks), text]:
        program = _code_around(setup(problem), code, defines)
        owner = _owner(program, problem.entry_point)
        if owner:
            alias = f"{problem.entry_point} = {owner}().{problem.entry_point}"
            return f"{setup(problem)}\n{program}\n\n{alias}\n"
    return _continued(problem.question, blocks[-1] if blocks else text)


def _needed(program: str, blocks: Sequence[str]) -> str:
    """Return the other blocks that bind names which a program uses and doesn't bind itself."""
    tree = _tree(program)
    if tree is None or len(blocks) == 1:
        return ""
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    missing = used - _bound(program) - {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    found = []
    for block in blocks:
        parsed = _tree(block)
        kinds = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef | ast.Assign
        whole = parsed is not None and all(isinstance(part, kinds) for part in parsed.body)
        if whole and missing & (_bound(block) - set(dir(builtins))):
            found.append(f"{block}\n")
    return "".join(found)


def _owner(program: str, name: str | None) -> str | None:
    """Return the one class of a program that has a method of this name and takes no arguments."""
    tree = _tree(program)
    if tree is None:
        return None
    owners = []
    for part in tree.body:
        if isinstance(part, ast.ClassDef):
            methods = {each.name: each for each in part.body if isinstance(each, ast.FunctionDef)}
            made = methods.get("__init__")
            if name in methods and (made is None or len(made.args.args) == 1):
                owners.append(part.name)
    return owners[0] if len(owners) == 1 else None


def setup(problem: Problem) -> str:
    """Return what a prompt has above its function: imports and helpers."""
    parts = _definition(problem).split(problem.question, maxsplit=1)
    return parts[0] if len(parts) > 1 else ""


def _definition(problem: Problem) -> re.Pattern[str]:
    name = re.escape(problem.entry_point or "")
    return re.compile(rf"^(?:async[ \t]+)?def[ \t]+{name}[ \t]*\(", re.MULTILINE)


def _tree(code: str) -> ast.Module | None:
    """Parse a program; ``None`` where it isn't one."""
    try:
        tree = ast.parse(code)
        compile(code, "<completion>", "exec", dont_inherit=True)  # finds a "return" outside, too
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    return tree


def _code_around(above: str, text: str, defines: re.Pattern[str]) -> str:
    """Return a text without the prose before, between and after its code."""
    if len(text) > LONGEST:
        return text
    known = _bound(above + text)
    tree = _tree(text)
    if tree is not None and not _has_words(tree, known):
        return text
    code = []
    pieces = list(_pieces(text))
    place = opened = 0
    while place < len(pieces):
        reach = 1
        if opened < _OPEN_STATEMENTS and _OPEN.search(pieces[place]):
            reach = _OPEN_PIECES
            opened += 1
        end, tree = _statement(pieces, place, reach)
        piece = "".join(pieces[place:end])
        if tree is not None and not _has_words(tree, known):
            code.append(piece)
        elif tree is None and (defines.match(piece) or _LOOKS_LIKE_CODE.match(piece)):
            return text  # code that isn't Python: the program shall fail for it
        place = end
    return "".join(code)


def _pieces(text: str) -> Iterator[str]:
    """Cut a text before each line that begins at the margin."""
    piece: list[str] = []
    for line in text.splitlines(keepends=True):
        decorated = len(piece) == 1 and piece[0].startswith("@")
        if piece and line[:1].strip() and not _CONTINUES.match(line) and not decorated:
            yield "".join(piece)
            piece = []
        piece.append(line)
    yield "".join(piece)


def _statement(pieces: Sequence[str], start: int, reach: int) -> tuple[int, ast.Module | None]:
    """Return the end of the statement that begins with a piece, and the statement."""
    for end in range(start + 1, min(len(pieces), start + reach) + 1):
        tree = _tree("".join(pieces[start:end]))
        if tree is not None:
            return end, tree
    return start + 1, None


def _bound(text: str) -> set[str]:
    """Return the names that a text may bind, and those of Python itself."""
    names = set(dir(builtins))
    for match in _BINDING.finditer(text):
        names.update(re.findall(r"\w+", " ".join(filter(None, match.groups()))))
    return names


def _has_words(tree: ast.Module, known: set[str]) -> bool:
    """Whether words happen to be Python: ``Done``, ``Output: 3``, ``Time - O(n)``."""
    return any(_is_words(statement, known) for statement in tree.body)


def _is_words(statement: ast.stmt, known: set[str]) -> bool:
    if isinstance(statement, ast.AnnAssign):
        return statement.value is None
    if not isinstance(statement, ast.Expr):
        return False
    nodes = list(ast.walk(statement))
    called = any(isinstance(node, ast.Call | ast.Await) for node in nodes)
    bound = all(node.id in known for node in nodes if isinstance(node, ast.Name))
    return not (bound and (called or isinstance(statement.value, ast.Constant)))


def _continued(question: str, text: str) -> str:
    """Put a body below a prompt: as it is, or indented where it lacks that, and without prose."""
    plain = f"{question}{text}\n"
    if len(plain) > LONGEST:
        return plain
    known = _bound(plain)
    last = next((line for line in reversed(question.splitlines()) if line.strip()), "")
    indent = last[: len(last) - len(last.lstrip())] or "    "
    for body in _cuts(text, known):
        first, _, rest = body.lstrip("\n").partition("\n")
        for shape in (
            body,
            f"{indent}{first.lstrip()}\n{rest}",  # the first line alone has lost its indentation
            textwrap.indent(textwrap.dedent(body), indent),
        ):
            if _grows(question, shape, known):
                return f"{question}{shape}\n"
    return plain


def _cuts(text: str, known: set[str]) -> Iterator[str]:
    """Yield a text, then parts of it: without prose before, and ends before a line of prose."""
    yield text
    lines = text.splitlines(keepends=True)
    start = next((n for n, line in enumerate(lines) if not _is_prose(line, known)), 0)
    if start:
        yield "".join(lines[start:])
    places = [n for n, line in enumerate(lines) if n > start and _is_prose(line, known)]
    for place in reversed(places[:_CUTS]):
        yield "".join(lines[start:place])


def _is_prose(line: str, known: set[str]) -> bool:
    """Whether a line at the margin is words rather than code."""
    if not line[:1].strip() or _KEYWORDS.match(line):
        return False
    tree = _tree(line)
    return tree is None or _has_words(tree, known)


def _grows(question: str, body: str, known: set[str]) -> bool:
    """Whether a body makes the prompt's last function do something, and no word of it is prose."""
    tree = _tree(f"{question}{body}\n")
    if tree is None or _has_words(tree, known):
        return False
    functions = [
        part for part in tree.body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    prompt = _tree(f"{question}    pass\n")
    if prompt is None or not functions:
        return True
    place = sum(isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) for part in prompt.body)
    function = functions[min(place, len(functions)) - 1]
    return len(function.body) > (ast.get_docstring(function, clean=False) is not None)
