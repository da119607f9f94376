r"""Check that a formula holds only what the parser reads faithfully.

The parser drops or misreads what it does not know (``f'`` is ``f``, ``A^T`` is ``A``, ``1 2`` is 3,
``\gcd(a, b)`` is 1), and two formulas of which it drops the difference would be equal. So what is
not listed here is not read, and not compared as mathematics.
"""

from __future__ import annotations

import re

_COMMANDS = re.compile(
    r"""frac|sqrt|pi|cdot|times|div|ln|log|exp|lg|to|infty|pm|mp|binom|sum|prod|int|lim|min|max
    |gcd|lcm|sin|cos|tan|cot|sec|csc|sinh|cosh|tanh|coth|arcsin|arccos|arctan|arccot|arcsec
    |arccsc|arsinh|arcosh|artanh|le|ge|lt|gt|ne|in|cup|cap|setminus|emptyset|mathbb|begin|end
    |lfloor|rfloor|lceil|rceil|vec|hat|bar|tilde|dot|ddot|overline|overrightarrow|mathcal
    |alpha|beta|gamma|delta|epsilon|varepsilon|zeta|eta|theta|vartheta|iota|kappa|lambda|mu
    |nu|xi|rho|varrho|sigma|varsigma|tau|upsilon|phi|varphi|chi|psi|omega|Gamma|Delta|Theta
    |Lambda|Xi|Pi|Sigma|Upsilon|Phi|Psi|Omega""",
    re.VERBOSE,
)
_COMMAND = re.compile(r"\\([a-zA-Z]+)")
_CHARACTERS = re.compile(r"[A-Za-z0-9\s+\-*/^_(){}\[\].,!|=<>&]*")
_ESCAPED = re.compile(r"\\(?:[{}|]|\\)")

_MISREAD = re.compile(
    r"""!\s*!                                   # a double factorial, taken for two
    |(?<![_\d])\d+\s+\d                         # two numbers
    |(?<![\\a-zA-Z])[a-zA-Z]\d                  # an index or a power that has lost its sign
    |(?<![\\a-zA-Z])(?:of|at|by|is|the|for|per|to)(?![a-zA-Z])   # words
    |\d\.\d*\.                                  # a section or a date
    |\^\s*\{?\s*(?:T|H|\*|\+|-)\s*(?:\}|$|[^\w\s({\\])   # a transpose, a conjugate, a sign
    |\^\s*T(?![a-zA-Z])
    |\\frac\s*\{\s*(?:d|\\partial)[^{}]*\}\s*\{\s*(?:d|\\partial)\s*[a-zA-Z\\]   # a derivative
    |(?<![\\a-zA-Z])E\s*[(\[]                   # an expected value, taken for Euler's number
    |[fghFGH]\s*\^\s*\{?\s*-\s*1\s*\}?\s*\(     # an inverse function, taken for a reciprocal
    """,
    re.VERBOSE,
)
_NUMBERS_ONLY = re.compile(r"\\?(?:gcd|lcm)\s*\(?(?P<arguments>[^()]*)")
_VECTOR = re.compile(r"\\(?:vec|overrightarrow|hat)(?![a-zA-Z])")
_PRODUCT = re.compile(r"\\(?:times|cdot)(?![a-zA-Z])")
_MULTIPLIED = re.compile(
    r"(?<![\\a-zA-Z])[A-Z](?:[\s\d_^{}()n-]*(?:\\times|\\cdot|\*)(?![a-z])[\s\d({.]*[A-Z](?![a-z]))+"
)
_NAMES = re.compile(r"(?<![\\a-zA-Z])[A-Z](?:\s*[A-Z](?![a-z]))+")


def faithful(text: str) -> bool:
    """Check whether the parser reads all that a tidied formula says."""
    if not all(map(_COMMANDS.fullmatch, _COMMAND.findall(text))):
        return False
    bare = _ESCAPED.sub(" ", _COMMAND.sub(" ", text))
    if not _CHARACTERS.fullmatch(bare) or _MISREAD.search(text):
        return False
    if any(re.search("[a-zA-Z]", match["arguments"]) for match in _NUMBERS_ONLY.finditer(text)):
        return False
    return not (_VECTOR.search(text) and _PRODUCT.search(text))


def ordered_names(text: str) -> frozenset[str]:
    """Return the runs of capitals: points, sides, matrices, whose order may mean something.

    So do products of capitals, which may be sets, and a current ``I``, which the parser takes for
    the imaginary unit.

    >>> sorted(ordered_names("AB + 2CD + x"))
    ['AB', 'CD']
    """
    runs = (*_NAMES.findall(text), *_MULTIPLIED.findall(text))
    names = {re.sub(r"[^A-Z]", "", run) for run in runs}
    return frozenset(names | ({"I"} if "I" in _COMMAND.sub("", text) else set()))
