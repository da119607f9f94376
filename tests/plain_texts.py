"""The constraints in plain words, by language and half."""

from __future__ import annotations

import plain_chinese
import plain_english

LANGUAGES = {"en": plain_english.TEXTS, "zh": plain_chinese.TEXTS}
TEXTS = [text for texts in LANGUAGES.values() for text, _, _ in texts]

Case = tuple[str, str, str]
"""Text, a response that meets it, one that does not."""


def halves(language: str) -> tuple[list[Case], list[Case]]:
    """The half that the grammar was widened with, and the half that was only measured."""
    texts = LANGUAGES[language]
    return texts[::2], texts[1::2]
