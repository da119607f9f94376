"""IFBench's verifiers of shares: stop words, overlap with a text, kinds and lengths of sentences.

Source: as for :mod:`heedful.verify.ifbench.count`, whose rules on strict and faithful scoring hold
here too.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Le

from heedful.verify.base import Finding, exactly, quoted, verifier
from heedful.verify.text.tokens import bare_words, unclosed, word_list

if TYPE_CHECKING:
    from heedful.verify.text.prepared import Response

__all__: list[str] = []

Percentage = Annotated[float, Ge(0), Le(100)]

# --- words --------------------------------------------------------------------------------------

# English's function words by the classes of grammar; these are NLTK's stop words, less those with
# an apostrophe, which the published code cannot find among runs of word characters. The last lines
# are what it does find of contractions, such as the t of don't.
_STOP_WORDS = frozenset(
    word_list(
        """
        i me my myself we our ours ourselves you your yours yourself yourselves he him his himself
        she her hers herself it its itself they them their theirs themselves
        what which who whom this that these those a an the
        am is are was were be been being have has had having do does did doing will can should
        and but if or because as until while nor than so
        of at by for with about against between into through during before after above below to
        from up down in out on off over under
        again further then once here there when where why how all any both each few more most
        other some such no not only own same too very just now
        don aren couldn didn doesn hadn hasn haven isn mightn mustn needn shan shouldn wasn weren
        won wouldn ain ma
        s t d ll m o re ve y
        """
    )
)


@verifier(
    "ratio:stop_words",
    describe=lambda percentage: f"Use stop words for at most {percentage:g} % of all words.",
)
def stop_words(response: Response, *, percentage: Percentage) -> Finding:
    """The share of stop words among the words, counted as IFEval does, is small enough.

    Of contractions each part is a word, so ``don't`` is two stop words.
    """
    words = response.words
    if not words:
        return Finding(met=False, found="no words")
    share = 100 * sum(word.lower() in _STOP_WORDS for word in words) / len(words)
    reason = f"{share:.1f} % stop words, asked for at most {percentage:g} %"
    return Finding(met=share <= percentage, found=reason)


_OVERLAP_TOLERANCE = 2


@verifier(
    "ratio:overlap",
    describe=lambda percentage, reference_text: (
        f"Take {percentage:g} % (±{_OVERLAP_TOLERANCE} %) of the trigrams from this text: "
        f"{reference_text}"
    ),
)
def overlap(response: Response, *, reference_text: str, percentage: Percentage) -> Finding:
    """Of the response's different trigrams of words, the right share occurs in the reference.

    Words are compared in any case and without the punctuation around them.

    Faithful: trigrams are of characters, white space and punctuation included.
    """
    if response.faithful is None:
        ours = _trigrams(bare_words(response.lower))
        theirs = _trigrams(bare_words(reference_text.lower()))
    else:
        ours, theirs = _trigrams(response.text), _trigrams(reference_text)
    if not ours:
        return Finding(met=False, found="too short for a trigram")
    share = 100 * len(ours & theirs) / len(ours)
    met = percentage - _OVERLAP_TOLERANCE <= share <= percentage + _OVERLAP_TOLERANCE
    return Finding(met=met, found=f"{share:.1f} % overlap, asked for {percentage:g} %")


def _trigrams(items: str | list[str]) -> set[tuple[str, ...]]:
    return set(zip(items, items[1:], items[2:], strict=False))


# --- sentences ----------------------------------------------------------------------------------


def _kinds(response: Response) -> dict[str, int]:
    """Count the sentences that end in ``.``, ``?`` and ``!``."""
    sentences = response.sentences
    if response.faithful is None:
        sentences = [unclosed(sentence) for sentence in sentences]
    return {mark: sum(each.endswith(mark) for each in sentences) for mark in ".?!"}


@verifier("ratio:sentence_type", describe="Write twice as many declarative sentences as questions.")
def sentence_type(response: Response) -> Finding:
    """Twice as many sentences end in a full stop as in a question mark, and some end so.

    Faithful: a response without either meets it, and a mark before a closing quote or bracket
    does not count.
    """
    kinds = _kinds(response)
    met = kinds["."] == 2 * kinds["?"]
    if response.faithful is None:
        met = met and kinds["?"] > 0
    return Finding(met=met, found=f"{kinds['.']} declarative, {kinds['?']} interrogative")


@verifier(
    "ratio:sentence_balance",
    describe="Write as many declarative sentences as questions and as exclamations.",
)
def sentence_balance(response: Response) -> Finding:
    """As many sentences end in a full stop as in a question mark and in an exclamation mark.

    Faithful: a response without any of them meets it, and a mark before a closing quote or bracket
    does not count.
    """
    kinds = _kinds(response)
    met = len(set(kinds.values())) == 1
    if response.faithful is None:
        met = met and kinds["."] > 0
    reason = f"{kinds['.']} declarative, {kinds['?']} interrogative, {kinds['!']} exclamatory"
    return Finding(met=met, found=reason)


_SENTENCES = 3


@verifier(
    "ratio:sentence_words",
    describe="Write three sentences of the same number of characters, no word twice.",
)
def sentence_words(response: Response) -> Finding:
    """There are three sentences of the same number of characters, and no word occurs twice.

    Faithful: words are not compared.
    """
    lengths = [len(sentence) for sentence in response.sentences]
    if len(lengths) != _SENTENCES:
        return exactly(len(lengths), _SENTENCES, "sentence")
    if len(set(lengths)) > 1:
        return Finding(met=False, found=f"{', '.join(map(str, lengths))} characters")
    if response.faithful is None:
        counts = Counter(bare_words(response.lower))
        again = [word for word, number in counts.items() if number > 1]
        if again:
            return Finding(met=False, found=f"more than once: {quoted(again[:3])}")
    return Finding(met=True, found=f"three sentences of {lengths[0]} characters each")
