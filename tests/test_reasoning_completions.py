"""Programs out of completions: fenced, in prose, indented or not, as a person would read them."""

import itertools

import pytest

from heedful.bench.grading.programs import completed
from heedful.core.problems import Problem

ADD = Problem(
    id="add",
    question='import math\n\n\ndef add(a, b):\n    """Add two numbers."""\n',
    kind="code",
    tests="def check(add):\n    assert add(1, 2) == 3\n",
    entry_point="add",
)

BEFORE = [
    "",
    "Here is the function:\n\n",
    "Sure! Note this:\n",
    "Done\n\n",
    "1. First, the code\n\n",
]
AFTER = [
    "",
    "\nThis adds the numbers.\n",
    "\nExplanation:\n- a is added\n- b is added\n",
    "\nDone\n",
    "\nOutput: 3\n",
    "\nTime - O(n)\n",
    "\nExample (optional)\n",
    "\nadd(1, 2)  # 3\n",
    "\nprint(add(1, 2))\n",
    "\n### Why it works\nAddition is built in.\n\nHope this helps!\n",
    "\n**Note** that `a` may be negative.\n",
    "\nLet me know; it's simple.\n",
]
PROGRAMS = [
    "def add(a, b):\n    return a + b\n",
    "from math import fsum\n\n\ndef add(a, b):\n    return fsum([a, b])\n",
    "def helper(x):\n    return x\n\ndef add(a, b):\n    return helper(a) + helper(b)\n",
    "def add(a, b):\n    return helper(a) + b\n\ndef helper(x):\n    return x\n",
    "import functools\n\n@functools.lru_cache\ndef add(a, b):\n    return a + b\n",
    "TABLE = [\n1,\n2,\n]\n\ndef add(a, b):\n    return a + b + 0 * len(TABLE)\n",
    'def add(a, b):\n    text = """\nDone: x\n"""\n    return a + b + 0 * len(text)\n',
    "def add(\n    a,\n    b,\n):\n    return a + b\n",
    "def add(a, b):\n    if a:\n        return a + b\n    else:\n        return b\n",
    (
        "class Adder:\n    def go(self, a, b):\n        return a + b\n\ndef add(a, b):\n"
        "    return Adder().go(a, b)\n"
    ),
]


def value_of(text: str) -> object:
    names: dict[str, object] = {"__name__": "solution"}
    exec(completed(ADD, text), names)  # noqa: S102 - our own programs
    function = names["add"]
    assert callable(function)
    return function(1, 2)


@pytest.mark.parametrize("program", PROGRAMS)
def test_code_is_read_out_of_the_prose_around_it(program: str) -> None:
    for before, after in itertools.product(BEFORE, AFTER):
        assert value_of(f"{before}{program}{after}") == 3, (before, after)
        assert value_of(f"{before}```python\n{program}```{after}") == 3, (before, after)


@pytest.mark.parametrize(
    "text",
    [
        "python\ndef add(a, b):\n    return a + b\n",
        "def add(a, b):\n    return a + b\n\n>>> add(1, 2)\n3\n",
        (
            "First:\n```\ndef add(a, b):\n    return a - b\n```\nFixed:\n"
            "```\ndef add(a, b):\n    return a + b\n```\nUsage:\n```\nprint(add(1, 2))\n```\n"
        ),
        "1. Solution:\n   ```python\n   def add(a, b):\n       return a + b\n   ```\n",
        "```python\ndef add(a, b):\n    return a + b\n",
        "def add(a, b):\r\n    return a + b\r\n\r\nThis adds.\r\n",
        "这个函数如下：\n\ndef add(a, b):\n    return a + b\n\n完成\n",
        "<answer>\ndef add(a, b):\n    return a + b\n</answer>",
        "add = lambda a, b: a + b\n",
        "    return a + b\n<|endoftext|>",
        "    return a + b\n\nHuman: thanks\n",
        "```python\nclass Solution:\n    def add(self, a, b):\n        return a + b\n```",
        "class Solution:\n    def add(self, a, b):\n        return a + b\n\nThis adds.\n",
        "```\ndef one(x):\n    return x\n```\nand\n```\ndef add(a, b):\n    return one(a) + b\n```",
        "```\ndef add(a, b):\n    return one(a) + b\n```\n```\ndef one(x):\n    return x\n```",
        "```\nimport operator\n```\nThen:\n```\ndef add(a, b):\n    return operator.add(a, b)\n```",
        "def add(a, b):\n    return a + b\n\nif __name__ == '__main__':\n    print(add(1, 2))\n",
        "<think>\ndef add(a, b): ...\n</think>\n```\ndef add(a, b):\n    return a + b\n```",
        "total = 0\n    for x in (a, b):\n        total += x\n    return total",
    ],
)
def test_what_models_write_around_code_is_not_code(text: str) -> None:
    assert value_of(text) == 3


BODIES = [
    "return a + b",
    "total = a\ntotal += b\nreturn total",
    "if a:\n    return a + b\nreturn b",
    "for x in [b]:\n    a += x\nreturn a",
    "# adds\nreturn a + b",
    "def inner(x):\n    return x + b\n\nreturn inner(a)",
]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("after", ["", "\n\nThis adds the numbers.\n", "\nThe answer is a + b.\n"])
def test_a_body_may_have_any_indentation(body: str, after: str) -> None:
    indented = "".join(f"    {line}\n" for line in body.splitlines())
    stripped = indented.strip()
    for text in (indented + after, body, stripped, indented.replace("    ", "\t") + after):
        assert value_of(text) == 3, text
    assert value_of(f"```\n{body}\n```{after}") == 3
    assert value_of(f"The body:\n```python\n{indented}```{after}") == 3


@pytest.mark.parametrize(
    "text",
    [
        "    return a +\n",
        "def add(a, b):\n    return a +\n",
        "def add(a, b) return a + b\n",
        "def add(a, b):\nreturn a + b\n",
        "def helper(x:\n    return x\n\ndef add(a, b):\n    return a + b\n",
        "    if a\n        return a + b\n    return b\n",
        "    return a + b)\n",
    ],
)
def test_code_that_is_not_python_is_not_mended(text: str) -> None:
    with pytest.raises(SyntaxError):
        compile(completed(ADD, text), "<program>", "exec")


@pytest.mark.parametrize("text", ["", "(" * 100_000, "-" * 100_000 + "1", "x\n" * 50_000, "\x00"])
def test_no_text_is_too_odd(text: str) -> None:
    assert ADD.question.splitlines()[0] in completed(ADD, text)
