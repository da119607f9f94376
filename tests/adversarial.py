"""Texts that make backtracking patterns slow, and a measure of how work grows with their length."""

import signal
import time
from collections.abc import Callable, Iterator
from itertools import product

__all__ = ["FLOOR_S", "LIMIT_S", "SIZE", "cpu_s", "excess", "pairs", "repeated", "runs"]

SIZE = 32_000
"""Characters of a long text."""

FLOOR_S = 0.05
"""Less CPU time than this is no stall, however it has grown."""

LIMIT_S = 10.0
"""CPU time for all verifiers of a benchmark on one text; they are stopped there."""

_MOST = 2.5
"""Times: what a long text may take of the time of its quarter, taken four times. Linear work has 1,
quadratic 4."""

_TRIES = 5

_SIGNS = "~`*_#-=+07{}[]()<>|.,:!?'\"\\/$%&@^aAé字。「“”—…가かกا①"
_MARKS = (
    r"1. 1, 1、 1) -1 ** __ ``` ~~~ |- -| () {} {\" [] [a] [a]( []( ]( ](a [1 <<a \( \[ \{a| //"
)
_WORDS = r"a- a_ a' a, a. =a _a 1a A1 #a n't x@ a@b. :// https:// http://a \frac{ \boxed{ P.S. -*-"
_TAGS = (
    "<b> <b>a </b> <i> </i> <a> </a> <|a|> <c1> </c1> Question VERDICT: 结论： 分析： [要求1-开始]"
)
_CHINESE = "字， 字。 字、 “a ”a 《a"
_SPACES = (" ", "\n", "\t", "\r", "\u00a0", "\u3000", "\n ", "\r\n", " \n\n", "\n\t", "\x0b")
_INVISIBLE = ("\u200d", "\u200b", "\ufe0f", "\u0301", "a\u0301", "\u093c", "\u00ad")
_EMOJI = ("\U0001f600", "\U0001f600\u200d", "\U0001f44d\U0001f3fd", "\U0001f1e9", "☘", "1\u20e3")
_LINES = ("a ", "a. ", "A. ", "a\n\n", "- ", "- a\n", "# ", "# a\n", "> ", "| ", "|a|\n", "|-|-\n")
_MORE_LINES = (
    "```\n",
    "~~~\n",
    "1. a\n",
    "1) ",
    "* * ",
    "**a** ",
    "a, ",
    "a:\n",
    "key: a\n",
    "\n1",
)
_FIRST = ("~", "\n", " ", "a", "0", "*", "|", "[", "<", '"')
_SECOND = (*_FIRST, "-", "`", "#", ".", ":", "]", ")", ">", "_", "字", "\U0001f600")


def runs() -> list[str]:
    """Return pieces, each of which is to be repeated to a text."""
    pieces = f"{_MARKS} {_WORDS} {_TAGS} {_CHINESE}".split()
    return [*_SIGNS, *pieces, *_SPACES, *_INVISIBLE, *_EMOJI, *_LINES, *_MORE_LINES]


def pairs() -> Iterator[tuple[str, Callable[[int], str]]]:
    """Yield texts of two pieces, the second after the first or by turns with it, with a name."""
    for first, second in product(_FIRST, _SECOND):
        if first != second:
            yield f"{first!r} by turns with {second!r}", repeated(first + second)
            yield f"{first!r}, then {second!r}", _one_then(first, second)


def _one_then(first: str, second: str) -> Callable[[int], str]:
    return lambda size: first * (size // 2 // len(first)) + second * (size // 2 // len(second))


def repeated(piece: str) -> Callable[[int], str]:
    """Make texts of one piece, again and again."""
    return lambda size: piece * (size // len(piece))


class _TooSlowError(Exception):
    """The limit of CPU time was reached."""


def excess(
    work: Callable[[str], object], text: Callable[[int], str], limit_s: float = 0.5
) -> float | None:
    """Say how much longer a long text takes than its quarter does, four times over.

    Args:
        work: to be done on a text.
        text: makes a text of about a number of characters.
        limit_s: of CPU time; work that takes longer is stopped, and too slow however it grows.

    Returns:
        ``None`` where it is no more than linear work takes.
    """
    ratio: float | None = None
    for attempt in range(_TRIES):
        # New texts at each attempt: what is kept of one must not help with the next.
        size = SIZE + 64 * attempt
        taken = cpu_s(work, text(size), limit_s)
        if taken < FLOOR_S:
            return None
        quarters = sum(cpu_s(work, text(size // 4 + 16 * at), limit_s) for at in range(4))
        ratio = taken / max(quarters, FLOOR_S / 10)
        if ratio < _MOST and taken < limit_s:
            return None
    return ratio


def cpu_s(work: Callable[[str], object], text: str, limit_s: float) -> float:
    """Return the CPU time that work on a text takes, in seconds; it is stopped at the limit."""

    def stop(*_: object) -> None:
        raise _TooSlowError

    before = signal.signal(signal.SIGVTALRM, stop)
    start = time.process_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, limit_s)
    try:
        work(text)
    except _TooSlowError:
        return max(limit_s, time.process_time() - start)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return time.process_time() - start
