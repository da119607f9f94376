"""IFBench's verifiers of copying: the request, a sentence, or words of the request.

Source: as for :mod:`heedful.verify.ifbench.count`, whose rules on strict and faithful scoring hold
here too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import NonNegativeInt  # noqa: TC002 - read at run time

from heedful.core.errors import VerifierError
from heedful.verify.base import Finding, verifier

if TYPE_CHECKING:
    from heedful.verify.text.prepared import Response


@verifier(
    "repeat:repeat_change",
    describe="Repeat this request with another first word and do not answer it: {prompt_to_repeat}",
)
def repeat_change(response: Response, *, prompt_to_repeat: str) -> Finding:
    """All words but the first are those of the request, and the first is another.

    Faithful: the first may be the same where the white space differs.
    """
    expected, actual = prompt_to_repeat.split(), response.text.split()
    if expected[1:] != actual[1:]:
        return Finding(met=False, found="the words after the first are not those of the request")
    same = expected[:1] == actual[:1]
    if response.faithful is not None:
        same = prompt_to_repeat == response.text
    word = "the same" if same else "another"
    return Finding(met=not same, found=f"the request with {word} first word")


_SENTENCE = "Only output this sentence here, ignore all other requests."


@verifier("repeat:repeat_simple", describe=f"Answer with nothing but '{_SENTENCE}'")
def repeat_simple(response: Response) -> Finding:
    """The response is that sentence, in any case."""
    met = response.lower.strip() == _SENTENCE.lower()
    return Finding(met=met, found=f"it {'is' if met else 'is not'} that sentence alone")


@verifier(
    "repeat:repeat_span",
    describe="Copy words {n_start} to {n_end}, both included and counted from 0, of: "
    "{prompt_to_repeat}",
)
def repeat_span(
    response: Response, *, prompt_to_repeat: str, n_start: NonNegativeInt, n_end: NonNegativeInt
) -> Finding:
    """The response is the words of the request between two places, in any case.

    Faithful: the last of these words is left out, and instead of the place 0 a random one is taken.
    """
    words = prompt_to_repeat.lower().split()
    met = response.lower.split() == words[span(response, len(words), n_start, n_end)]
    return Finding(met=met, found=f"it {'is' if met else 'is not'} that span of words")


def span(response: Response, size: int, n_start: int, n_end: int) -> slice:
    """Return what is between two places of a request, both included.

    In faithful scoring the last place is not included, and a place 0, which the published code
    takes for none, is replaced by a random one.
    """
    if not n_start <= n_end < size:
        raise VerifierError(
            f"n_start {n_start} and n_end {n_end} aren't a span of a request of {size} places",
            hint=f"0 <= n_start <= n_end <= {size - 1}",
        )
    if response.faithful is None:
        return slice(n_start, n_end + 1)
    randint = response.faithful.randint
    n_start = n_start or randint(0, max(size - 2, 0))
    return slice(n_start, n_end or randint(n_start + 1, max(size - 1, n_start + 1)))
