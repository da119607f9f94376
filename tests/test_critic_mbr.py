"""MBR: the picks of IF-Critic's public code."""

import difflib
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.core.errors import UsageError
from heedful.critic.data.mbr import SIMILARITIES, pick


def reference(texts: list[str], similarity: str) -> int:
    """IF-Critic's pick, as its paper's formula and its public code have it."""
    scores = []
    for text in texts:
        score = 0.0
        for other in texts:
            score += getattr(difflib.SequenceMatcher(None, text, other), similarity)()
        scores.append(score)
    return scores.index(max(scores))


@st.composite
def versions(draw: st.DrawFn) -> list[str]:
    """Several versions of a text, long enough for difflib's heuristic now and then."""
    alphabet = draw(
        st.sampled_from(["ab", "abcdefgh ", "的一是不了在人有我他这为", "aé\U0001f600\ud800"])
    )
    chance = random.Random(draw(st.integers(0, 2**32)))
    length = draw(st.sampled_from([0, 1, 2, 3, 8, 40, 199, 200, 320]))
    base = [chance.choice(alphabet) for _ in range(length)]
    texts = []
    for _ in range(draw(st.integers(1, 4))):
        text = base.copy()
        for _ in range(chance.randint(0, 1 + length // 8)):
            at = chance.randint(0, len(text))
            if chance.random() < 0.5:
                del text[at : at + chance.randint(1, 9)]
            else:
                text[at:at] = chance.choices(alphabet, k=chance.randint(1, 9))
        texts.append("".join(text))
    return texts


@pytest.mark.parametrize("similarity", ["ratio", "quick_ratio"])
@given(texts=versions())
def test_picks_are_those_of_difflib(texts: list[str], similarity: str) -> None:
    assert pick(texts, similarity) == reference(texts, similarity)


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_of_equals_the_first_is_picked(similarity: str) -> None:
    assert pick(["odd one", "the same", "the same"], similarity) == 1
    assert pick(["alone"], similarity) == 0
    assert pick(["", ""], similarity) == 0


def test_nothing_to_choose_and_unknown_similarities_are_refused() -> None:
    with pytest.raises(UsageError):
        pick([])
    with pytest.raises(UsageError, match="cosine"):
        pick(["a"], "cosine")
