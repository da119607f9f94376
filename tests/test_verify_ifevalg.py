from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from heedful.core.errors import VerifierError
from heedful.core.nouns import Check
from heedful.verify import Readings, Response, check, describe
from heedful.verify.ifeval.extra import split_by_rules

PROMPT = {"prompt_to_repeat": "Write a poem."}
SPAN = {"prompt_to_repeat": "abcdef", "n_start": 1, "n_end": 3}
LEAST = {"relation": "at least"}
LETTER = {"letter": "#", "let_frequency": 2, "let_relation": "at least"}
THREE = "So it is. We go now.\n* * *\nDon't you go? Not right now!\n***\nYou said so. I said no."

# Each id with arguments, a response that meets it and one that does not.
MET: list[tuple[str, dict[str, Any], str, str]] = [
    ("copy:copy", PROMPT, "write a poem.\n", "Write a poem"),
    ("copy:copying_simple", PROMPT, " Write a poem.", "Write a poem. Rain falls."),
    ("copy:copying_multiple", PROMPT | {"N": 2}, "Write a poem. ****** write a poem.",
     "Write a poem. ****** Write a poem. ******"),
    ("new:copy_span_idx", SPAN, "BCD\n", "bc"),
    ("new:copy_span_idx", SPAN | {"n_start": 0}, "abcd", "abc"),
    ("copy:repeat_phrase", {"phrase": "we all go home", "small_n": 2},
     "We ALL walk home, we two go home.", "We all go home, we two go home."),
    ("copy:repeat_phrase", {"phrase": "we all go home", "small_n": 1}, "We will go home.",
     "We will walk home."),
    ("keywords:word_once", {"keyword": "rain"}, "Rain and rainy days", "Rain, rain"),
    ("keywords:word_once", {"keyword": "c++"}, "I like C++.", "c"),
    ("keywords:word_count_different_numbers", {"keyword": "a", "frequency": 2} | LEAST, "A an a",
     "a a a"),
    ("keywords:exclude_word_harder", {"keyword": "rain"}, "rainy", "It is Rain."),
    ("keywords:keyword_specific_position", {"keyword": "Rain", "n": 1, "m": 2}, "So, rain it is.",
     "Rain it is."),
    ("first_word:first_word_sent", {"first_word": "so"}, '"So it is." So, what?', "So it is. Or?"),
    ("first_word:first_word_answer", {"first_word": "So"}, "“so” it is. Or?", "Or so."),
    ("last_word:last_word_sent", {"last_word": "now"}, "Go now. Why *now*?", "Go now. Why not?"),
    ("last_word:last_word_answer", {"last_word": "don't"}, "Go? Please don't!", "Don't go."),
    ("count:lowercase_counting", {"N": 2}, "Café CAFÉ don't café", "We don't go now"),
    ("letters:letter_counting", {"N": 3} | LEAST, "é1a b", "a, b"),
    ("letters:letter_counting", {"N": 3, "relation": "less than"}, "a, b", "abc"),
    ("letters:letter_counting2", LETTER, "# and #", "#"),
    ("count:counting_composition", {"n_sent": 2, "n_words": 3}, THREE,
     THREE.replace("said no", "no")),
    ("count:counting_composition", {"n_sent": 1, "n_words": 1}, "***\na\n***\nb\n* * *\nc",
     "a***b"),
    ("count:count_increment_word", {"keyword1": "sun", "keyword2": "rain"},
     "Sun: rain, rain. Sunny", "Sun: rain"),
    ("count:count_unique", {}, "No. Word, twice.", "The word, the"),
    ("detectable_format:sentence_hyphens", {}, "It is well-known.-So it is!-Why?",
     "It is.-So it is. Why?"),
    ("detectable_format:sentence_hyphens", {}, "It is so", "It is. -So it is."),
    ("detectable_format:square_brackets", {}, "[So], [it] — [is]!", "[So] it [is]"),
    ("detectable_format:square_brackets", {}, "[So][it]", "[So it]"),
    ("detectable_format:bigram_wrapping", {}, "<<I am>>, <<at home>> <<now>>",
     "<<I am at>> <<home>>"),
    ("detectable_format:bigram_wrapping", {}, "<<I am>> now", "<<I>>"),
    ("keywords:no_adjacent_consecutive", {}, "Cats – eat (to) end", "A (big) cat"),
    ("keywords:palindrome", {}, "Look: Radar!", "I saw a 121"),
    ("keywords:start_end", {}, "“Now” it is now", "Now it is now."),
    ("keywords:start_end", {}, "so So", "so"),
    ("paragraphs:paragraphs", {}, "a\n***\nb", "a\n\nb"),
    ("paragraphs:paragraphs", {}, "***a***b***", "a *** *** b"),
    ("paragraphs:paragraphs2", {}, "a\n\n\n\nb\n", "a\n\nb\n\nc"),
    ("punctuation:punctuation_dot", {}, "So it is!", "3.5"),
    ("punctuation:punctuation_exclamation", {}, "So it is.", "So!"),
]  # fmt: skip

# Responses on which the published code decides otherwise, each with its verdict.
FAITHFUL: list[tuple[str, dict[str, Any], str, bool]] = [
    ("new:copy_span_idx", SPAN, "bc", True),
    ("copy:repeat_phrase", {"phrase": "we all go home", "small_n": 2},
     "we all go home, so we two go home.", True),
    ("copy:repeat_phrase", {"phrase": "we all go home", "small_n": 1}, "We will go home.", False),
    ("copy:repeat_phrase", {"phrase": "we all go home", "small_n": 1},
     "we will go home, we are not home", False),
    ("keywords:word_once", {"keyword": "rain"}, "Rain and rainy", False),
    ("keywords:word_once", {"keyword": "r..n"}, "Rain", True),
    ("keywords:word_count_different_numbers", {"keyword": "a", "frequency": 2} | LEAST,
     "a a a", True),
    ("keywords:exclude_word_harder", {"keyword": "rain"}, "It is Rain.", True),
    ("keywords:keyword_specific_position", {"keyword": "Rain", "n": 1, "m": 2}, "So rain", False),
    ("keywords:keyword_specific_position", {"keyword": "rain", "n": 1, "m": 3}, "So, rain", True),
    ("first_word:first_word_sent", {"first_word": "so"}, '"So it is."', False),
    ("first_word:first_word_answer", {"first_word": "So,"}, "so, it is", True),
    ("last_word:last_word_sent", {"last_word": "don't"}, "Please don't.", False),
    ("last_word:last_word_answer", {"last_word": "dont"}, "Please don't.", True),
    ("count:lowercase_counting", {"N": 0}, "Le café", True),
    ("count:lowercase_counting", {"N": 1}, "I don't", False),
    ("letters:letter_counting", {"N": 1} | LEAST, "é", False),
    ("count:counting_composition", {"n_sent": 1, "n_words": 2}, "a.\n***\nb.\n***\nc.", True),
    ("count:counting_composition", {"n_sent": 1, "n_words": 1}, "a\n***\nb\n* * *\nc", False),
    ("count:counting_composition", {"n_sent": 1, "n_words": 1}, "a***b***c***", False),
    ("count:count_increment_word", {"keyword1": "sun", "keyword2": "rain"},
     "sunny rain rainy", True),
    ("count:count_unique", {}, "No. Word.", False),
    ("count:count_unique", {}, "The the", True),
    ("detectable_format:sentence_hyphens", {}, "It is well-known.", False),
    # An ellipsis ends a sentence by the published rules, and not by Punkt's.
    ("first_word:first_word_sent", {"first_word": "so"}, "So... it is.", False),
    ("last_word:last_word_sent", {"last_word": "rain"}, "So... rain.", False),
    ("keywords:keyword_specific_position", {"keyword": "it", "n": 2, "m": 1}, "So... it is.", True),
    ("count:counting_composition", {"n_sent": 2, "n_words": 2},
     "Go... now.\n***\nGo... now.\n***\nGo... now.", True),
    ("detectable_format:square_brackets", {}, "[So], [it]", False),
    ("detectable_format:bigram_wrapping", {}, "<<I>>", True),
    ("keywords:no_adjacent_consecutive", {}, "1 2", False),
    ("keywords:palindrome", {}, "a", True),
    ("keywords:palindrome", {}, "Look: Radar!", False),
    ("keywords:start_end", {}, '"Now" is now', False),
    ("paragraphs:paragraphs2", {}, "a\n\n\n\nb", False),
]  # fmt: skip

IDS = list(dict.fromkeys(id_ for id_, *_ in MET))
USUAL = {id_: args for id_, args, *_ in reversed(MET)}


def met(id_: str, args: dict[str, Any], text: str, *, faithful: bool = False) -> bool:
    rng = random.Random(0) if faithful else None
    return check(Check(id=id_, args=args), Response(text, faithful=rng)).met


def test_all_29_ids_are_there() -> None:
    assert len(IDS) == 29


@pytest.mark.parametrize("id_", IDS)
def test_each_id_is_described_in_a_sentence_with_its_arguments(id_: str) -> None:
    words = describe(Check(id=id_, args=USUAL[id_]))
    assert words[0].isupper()
    assert "{" not in words
    said = USUAL[id_]
    if id_ == "keywords:word_count_different_numbers":  # the constraint's text hides its relation
        said = said | {"relation": "exactly"}
    assert all(str(value) in words for value in said.values())


@pytest.mark.parametrize(("id_", "args", "good", "bad"), MET)
def test_what_is_met_and_what_is_not(id_: str, args: dict[str, Any], good: str, bad: str) -> None:
    assert met(id_, args, good)
    assert not met(id_, args, bad)


@pytest.mark.parametrize(("id_", "args", "text", "verdict"), FAITHFUL)
def test_faithful_scoring_repeats_what_the_published_code_decides(
    id_: str, args: dict[str, Any], text: str, *, verdict: bool
) -> None:
    assert met(id_, args, text, faithful=True) is verdict
    assert met(id_, args, text) is not verdict


@pytest.mark.parametrize(
    ("id_", "args", "complaint"),
    [
        ("copy:copying_multiple", PROMPT | {"N": 0}, "N is 0.*greater than 0"),
        ("new:copy_span_idx", SPAN | {"n_end": 2.5}, "n_end is 2.5"),
        ("letters:letter_counting", {"N": 3, "relation": "at most"}, "relation is 'at most'"),
        ("keywords:palindrome", {"keyword": "a"}, "takes no arguments"),
        ("new:copy_span_idx", SPAN | {"n_end": 6}, "a span of a request of 6 places"),
        ("copy:repeat_phrase", {"phrase": "go home", "small_n": 1}, "no word in its middle"),
    ],
)
def test_wrong_arguments_are_refused(id_: str, args: dict[str, Any], complaint: str) -> None:
    with pytest.raises(VerifierError, match=complaint):
        met(id_, args, "a")


# --- properties ---------------------------------------------------------------------------------

LETTERS = st.text(st.sampled_from("bcdfghjklmnpqrstvwxz"), min_size=1, max_size=6)
LISTS = st.lists(LETTERS, min_size=1, max_size=20)


@given(LISTS, st.integers(1, 4))
def test_copies_are_counted(words: list[str], number: int) -> None:
    prompt = " ".join(words)
    args = {"prompt_to_repeat": prompt}
    text = "\n******\n".join([prompt] * number)
    assert met("copy:copying_multiple", args | {"N": number}, text)
    assert not met("copy:copying_multiple", args | {"N": number + 1}, text)
    assert not met("copy:copying_multiple", args | {"N": number}, f"{text}y")
    assert met("copy:copy", args, prompt)
    assert not met("copy:copying_simple", args, f"{prompt} y")


@given(LISTS, st.data())
def test_spans_are_copied(words: list[str], data: st.DataObject) -> None:
    prompt = " ".join(words)
    start = data.draw(st.integers(0, len(prompt) - 1))
    end = data.draw(st.integers(start, len(prompt) - 1))
    args = {"prompt_to_repeat": prompt, "n_start": start, "n_end": end}
    assume(prompt[start : end + 1].strip())
    assert met("new:copy_span_idx", args, prompt[start : end + 1])
    assert not met("new:copy_span_idx", args, prompt[start : end + 1] + "y")


@given(LISTS, st.integers(0, 200))
def test_words_and_letters_are_counted(words: list[str], bound: int) -> None:
    text = ", ".join(words) + "."
    letters = sum(map(len, words))
    assert met("count:count_unique", {}, text) is (len(set(words)) == len(words))
    assert met("count:lowercase_counting", {"N": bound}, text) is (len(words) <= bound)
    assert met("letters:letter_counting", {"N": bound} | LEAST, text) is (letters >= bound)
    less = {"N": bound, "relation": "less than"}
    assert met("letters:letter_counting", less, text) is (letters < bound)


@given(LISTS, LETTERS, st.integers(0, 4))
def test_keywords_are_counted(words: list[str], keyword: str, number: int) -> None:
    text = " ".join(f"{word}y" for word in words) + f" {keyword}," * number + f" {keyword}y"
    assert met("keywords:word_once", {"keyword": keyword}, text) is (number == 1)
    assert met("keywords:exclude_word_harder", {"keyword": keyword}, text) is (number == 0)
    times = {"keyword": keyword, "frequency": number} | LEAST
    assert met("keywords:word_count_different_numbers", times, text)


@given(LISTS)
def test_words_and_pairs_are_wrapped(words: list[str]) -> None:
    wrapped = [f"[{word}]" for word in words]
    assert met("detectable_format:square_brackets", {}, " ".join(wrapped))
    assert not met("detectable_format:square_brackets", {}, " ".join([*wrapped, "y"]))
    pairs = [f"<<{first} {second}>>" for first, second in zip(words, words, strict=True)]
    assert met("detectable_format:bigram_wrapping", {}, " ".join(pairs))
    assert not met("detectable_format:bigram_wrapping", {}, " ".join([*pairs, "y y"]))


@given(st.integers(1, 3), st.integers(1, 6))
def test_paragraphs_sentences_and_words_are_composed(sentences: int, words: int) -> None:
    paragraph = " ".join(["Go" + " now" * (words - 1) + "!"] * sentences)
    args = {"n_sent": sentences, "n_words": words}
    text = "\n* * *\n".join([paragraph] * 3)
    assert met("count:counting_composition", args, text)
    assert not met("count:counting_composition", args, f"{text} Go.")
    joined = "-".join([paragraph.replace(" Go", "-Go")] * 2)
    assert met("detectable_format:sentence_hyphens", {}, joined)
    assert not met("detectable_format:sentence_hyphens", {}, f"{joined} Go!")


@given(st.lists(st.sampled_from(
    ["Mr. ", "a", "B. ", "U.S. ", " Inc. ", "He ", "3.5", "...", ". ", '."', '!"', ".com", "\n"]
), max_size=12).map("".join))  # fmt: skip
def test_the_published_rules_lose_no_letter(text: str) -> None:
    letters = [sign for piece in split_by_rules(text) for sign in piece if sign.isalnum()]
    assert letters == [sign for sign in text if sign.isalnum()]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Mr. Fox came. He left!", ["Mr. Fox came.", "He left!"]),
        ("I know J. Bach of Acme Inc. He left.", ["I know J. Bach of Acme Inc", "He left."]),
        ("So... it is 3.5 m. at a.com?", ["So...", "it is 3.5 m. at a.com?"]),
        ('She said "Go." Then left.', ['She said "Go".', "Then left."]),
        ("The U.S. He left", ["The U.S.", "He left"]),
        ("A Ph.D. is long. So", ["A Ph.D. is long.", "So"]),
    ],
)
def test_sentences_are_split_by_the_published_rules(text: str, sentences: list[str]) -> None:
    assert split_by_rules(text) == sentences


@given(st.text(), st.booleans())
def test_no_verifier_fails_on_any_text(text: str, faithful: bool) -> None:  # noqa: FBT001
    readings = Readings(text, seed=0 if faithful else None)
    for id_ in IDS:
        assert readings.read(Check(id=id_, args=USUAL[id_])).strict.met in {True, False}
