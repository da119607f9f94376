"""A response prepared once for all the checks on it: its words, sentences, paragraphs, language."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from heedful.verify.text.sentences import splitter
from heedful.verify.text.words import bare_words, treebank_words

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from heedful.core.turns import ToolCall
    from heedful.verify.text.layout import Layout

_WORD = re.compile(r"\w+")


class Response:
    """The text of a response, and what the verifiers need of it, each worked out on first use.

    Attributes:
        text: the response, as the model wrote it.
        faithful: ``None`` scores strictly. In faithful scoring, where verifiers reproduce the
            published code's defects, the source of that code's random numbers; it is
            set again before each check.
        calls: the tool calls of its conversation and its own, divided by the user's turns, see
            :func:`heedful.core.turns.calls_by_turn`; ``None`` where they aren't known.
    """

    def __init__(
        self,
        text: str,
        faithful: random.Random | None = None,
        calls: Sequence[Sequence[ToolCall]] | None = None,
    ) -> None:
        self.text = text
        self.faithful = faithful
        self.calls = calls

    @cached_property
    def empty(self) -> bool:
        """Whether there is nothing but white space."""
        return not self.text or self.text.isspace()

    @cached_property
    def unfenced(self) -> tuple[Response, bool] | None:
        """The response without the fences of blocks of Markdown, and whether one block is all.

        ``None`` where there is no such block.
        """
        found = self.layout.unfenced
        return found and (Response(found[0], self.faithful, self.calls), found[1])

    @cached_property
    def lower(self) -> str:
        """The text in lower case."""
        return self.text.lower()

    @cached_property
    def words(self) -> list[str]:
        """The runs of letters, digits and underscores, as IFEval counts words."""
        return _WORD.findall(self.text)

    @cached_property
    def bare_words(self) -> list[str]:
        """The words as a reader counts them, by :func:`~heedful.verify.text.words.bare_words`."""
        return bare_words(self.text)

    @cached_property
    def tokens(self) -> list[str]:
        """Words, clitics and punctuation by the Penn Treebank's rules, as NLTK cuts a text."""
        return treebank_words(self.sentences)

    @cached_property
    def sentences(self) -> list[str]:
        """The sentences; :func:`heedful.verify.sentence_rules` says by which rules."""
        return splitter().split(self.text)

    @cached_property
    def paragraphs(self) -> list[str]:
        """The pieces between blank lines, without empty ones."""
        return [piece for piece in self.text.split("\n\n") if piece.strip()]

    @cached_property
    def layout(self) -> Layout:
        """The lines and what they make up, in every reading of it."""
        from heedful.verify.text.layout import Layout

        return Layout(self.text)

    @cached_property
    def language(self) -> str | None:
        """The code of the language, e.g. ``en``; ``None`` where no letter tells it."""
        from heedful.verify.text.language import language_of

        return language_of(self.text)

    @cached_property
    def likeliest_language(self) -> str | None:
        """The same where no published verdict is to be reproduced: quicker, nothing sampled."""
        from heedful.verify.text.language import likeliest_language

        return likeliest_language(self.text)

    @cached_property
    def capital_words(self) -> int:
        """The number of words all in capitals, by the Penn Treebank's rules for what is a word."""
        return sum(map(str.isupper, self.tokens))
