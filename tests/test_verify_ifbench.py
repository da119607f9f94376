from __future__ import annotations

import importlib.util
import json
import random
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.core.errors import VerifierError
from heedful.core.nouns import Check
from heedful.verify import Readings, Response, check
from heedful.verify.ifbench.words import imported
from heedful.verify.ifeval.extra import split_by_rules

EXTRA = {
    "format:emoji": "emoji",
    "words:odd_even_syllables": "syllapy",
    "words:start_verb": "HanTa",
}

WORDS = {"keyword1": "a", "keyword2": "b", "keyword3": "c", "keyword4": "d", "keyword5": "e"}
STORY = " ".join(f"{chr(65 + at)}bc went on." for at in range(26))
QUIZ = "\n".join(
    f"Question {at}: {'Why' * at}?\n" + "\n".join(f"{letter}) It" for letter in "ABCDE")
    for at in range(1, 5)
)
AFRICA = "\n".join(["Zimbabwe", *(f"Y{chr(90 - at // 26)}{chr(90 - at % 26)}" for at in range(51))])
CAPITALS = (
    "Reykjavik, Helsinki, Oslo, Tallinn, Stockholm, Riga, Moscow, Copenhagen, Vilnius, Minsk, "
    "Dublin, Berlin, Amsterdam, Warsaw, London, Brussels, Kyiv, Prague, Luxembourg, Paris, Vienna, "
    "Bratislava, Budapest, Vaduz, Chișinău, Bern, Ljubljana, Zagreb"
)
CITIES = "ID,Country,City,Year,Count" + "\n1,A,B,2000,3" * 7
PRODUCTS = "ProductID,Category,Brand,Price,Stock" + "\n1,A,B,2,3" * 13
MARKS = '"StudentID"\t"Subject"\t"Grade"\t"Semester"\t"Score"' + '\n"1"\t"A"\t"B"\t"C"\t"2"' * 3

PROMPT = {"prompt_to_repeat": "Write a poem."}
SPAN = {"prompt_to_repeat": "abcdef", "n_start": 1, "n_end": 3}
LEAST = {"relation": "at least"}
LETTER = {"letter": "#", "let_frequency": 2, "let_relation": "at least"}
THREE = "So it is. We go now.\n* * *\nDon't you go? Not right now!\n***\nYou said so. I said no."

# Each id with arguments, a response that meets it and one that does not.
MET: list[tuple[str, dict[str, Any], str, str]] = [
    ("count:word_count_range", {"min_words": 2, "max_words": 3}, "a b c", "don't a b"),
    ("count:word_count_range", {"min_words": 2.0, "max_words": 3.0}, "a b", "a"),
    ("count:unique_word_count", {"N": 2}, "The cat, the", "The — the!"),
    ("count:conjunctions", {"small_n": 2}, "And so.", "and, And (and)"),
    ("count:person_names", {"N": 2}, "Emma met Liam.", "Emma met Emma in Miami, liam."),
    ("count:numbers", {"N": 2}, "3.5 and 1,000", "In 1999 to 2001, 2 men"),
    ("count:numbers", {"N": 2}, "10-20", "1,2,3"),
    ("count:words_japanese", {"N": 2}, "I 行く there カナ!", "I go there"),
    ("count:words_japanese", {"N": 3}, "One two", "One — two 3"),
    ("count:pronouns", {"N": 3}, "She/her? I'm", "This someone, he is his"),
    ("count:punctuation", {}, "a, b; c: d. e! f? g?!", "a, b; c: d. e?!"),
    ("count:punctuation", {}, "a, b; c: d. e! f? g‽", "a, b; c: d. e! f?"),
    ("count:keywords_multiple", WORDS, "A b b c c c d d d d d e e e e e e e", "a b c d e"),
    ("ratio:stop_words", {"percentage": 50}, "The cat", "The cat is"),
    ("ratio:overlap", {"reference_text": "One two, three four", "percentage": 50},
     "one two three five", "one two three four"),
    ("ratio:sentence_type", {}, 'He went. "He went." Why?', "He went. Why?"),
    ("ratio:sentence_balance", {}, "So. So? So!", "So. So?"),
    ("ratio:sentence_words", {}, "My cat. We sit. He ran.", "My cat. My cow. My dog."),
    ("ratio:sentence_words", {}, "My cat. We sit. He ran.", "A cat. We sat in."),
    ("words:alphabet", {}, "Yes, zebras — and “big” cats", "All cats"),
    ("words:no_consecutive", {}, "A big cat, 1 10", "big Bad"),
    ("words:vowel", {}, "A big hut.\nStill a hut", "Euro is big"),
    ("words:vowel", {}, "By", "a\n\nb"),
    ("words:consonants", {}, "Three strong – 3 nymphs", "Three are"),
    ("words:palindrome", {}, "Level, " * 9 + "“radar”", "level " * 9 + "12321 noon"),
    ("words:prime_lengths", {}, "The — two, “seven”", "The four"),
    ("words:prime_lengths", {}, "a" * 101, "don't"),
    ("words:odd_even_syllables", {}, "A happy dog", "A dog"),
    ("words:repeats", {"small_n": 1}, "A – b – c", "so, So"),
    ("words:start_verb", {}, "**Imagine** a house.", "The house stands."),
    ("sentence:keyword", {"word": "rain", "N": 2}, "So. Rain, again", "Rain. Rainy so"),
    ("sentence:increment", {"small_n": 1}, "One. Two — three. One of four.", "One. Two."),
    ("sentence:alliteration_increment", {}, "A b. Big bad c. Do dare, dear.",
     "Big bad. A big bee."),
    ("words:keywords_specific_position", {"keyword": "rain", "n": 2, "m": 2}, "So. So, RAIN",
     "Rain"),
    ("words:words_position", {"keyword": "so"}, "And so, now so it.", "And so, it is."),
    ("words:last_first", {}, "We go. Go far. Far!", "We go. We far."),
    ("words:paragraph_last_first", {}, "Go, now go.\n\nSo", "Go now\nSo"),
    ("format:options", {"options": "yes/no/maybe"}, "**Yes.**\n", "Yes, no"),
    ("format:options", {"options": "I know or I don't know"}, "I don't know!", "know"),
    ("format:options", {"options": "a), b), c), d)"}, "b)\n", "b"),
    ("format:options", {"options": "for, against, or neither"}, "Neither.", "or neither"),
    ("format:output_template", {}, "My Answer: a My Conclusion: b Future Outlook: c",
     "Future Outlook: c My Answer: a My Conclusion: b"),
    ("format:no_whitespace", {}, "a-b", "a\u00a0b"),
    ("format:list", {"sep": "!?!?"}, "!?!? a\n !?!? b", "!?!? a"),
    ("format:list", {"sep": "-"}, "- a\n- b", "well-known, half-done"),
    ("format:sub-bullets", {}, "* **a**\n  - b\n* c\n\t- d\n- e", "* a\n* b\n - c"),
    ("format:sub-bullets", {}, "* a\n- b", "a"),
    ("format:no_bullets_bullets", {}, "One.\n\nTwo.\n* a\n* b\nEnd.", "One! Two.\n* a\n* b"),
    ("format:newline", {}, "One,\n\n—\ntwo", "One two\n\nthree"),
    ("format:line_indent", {}, "a\n\n\n b\n\t  c", "a\n b\n b"),
    ("format:line_indent", {}, "a\n b", "a"),
    ("format:parentheses", {}, "({[({a}b)]})", "({[({a}b"),
    ("format:quotes", {}, "\"He: 'I don't say “a”', so\"", "\"a 'b' c\" 'd' isn't \"e\""),
    ("format:quote_unquote", {}, '"Go" means: leave.', 'He said "Go" "now".'),
    ("format:quote_unquote", {}, "“Go” means: leave.", "He said: “Go!”"),
    ("format:emoji", {}, "One 😀. Two. 😀 Three 🇩🇪", "One. Two 😀"),
    ("format:emoji", {}, "1. One. 1️⃣", "One 😀 two"),
    ("format:thesis", {}, "Well:\n# A\n<i>So</i> it is.\n**B**\n\n<em>Go</em> on.",
     "# A\n<i>So</i> it is.\n# B\nNo."),
    ("format:thesis", {}, "<i>So</i> it is.", "It is <i>so</i> here."),
    ("format:title_case", {}, "The Art of War Isn't 3d, You Know", "The art of War"),
    ("format:title_case", {}, "We Go. You Go.", "We Go. of It."),
    ("repeat:repeat_change", {"prompt_to_repeat": "Write a poem."}, "Read a poem.",
     "Write a  poem."),
    ("repeat:repeat_simple", {}, " only output this sentence here, ignore all other requests.\n",
     "Only output this sentence here."),
    ("repeat:repeat_span", {"prompt_to_repeat": "a b c d", "n_start": 0, "n_end": 2}, "A b c",
     "a b"),
    ("custom:multiples", {}, "14, 21, 28, 35, 42, 49", "7, 14, 21, 28, 35, 42, 49"),
    ("custom:mcq_count_length", {}, QUIZ, QUIZ.replace("Question 4", "Query")),
    ("custom:mcq_count_length", {}, QUIZ.replace(" 1", ""), f"Here: {QUIZ}"),
    ("custom:reverse_newline", {}, AFRICA, AFRICA + "\nZambia"),
    ("custom:word_reverse", {}, "Eagle bald the is it.", "The bald eagle."),
    ("custom:character_reverse", {}, ".elgae dlaB ehT", "Eagle bald"),
    ("custom:sentence_alphabet", {}, STORY.replace("Bbc", '"Bbc"'), STORY.replace("Bbc", "Abc")),
    ("custom:european_capitals_sort", {}, CAPITALS + ".", CAPITALS.replace("Kyiv, ", "")),
    ("custom:csv_city", {}, CITIES + "\n", CITIES + "\n1,A,B,2000"),
    ("custom:csv_special_character", {}, PRODUCTS + '\n1,"A&b, c",B,2,3',
     PRODUCTS + "\n1,A&b,B,2,3"),
    ("custom:csv_quotes", {}, MARKS, MARKS.replace('"A"', "A")),
    ("custom:date_format_list", {}, "1796-04-12, 1805-12-02", "1796-04-12 and more"),
    ("custom:date_format_list", {}, "1804-02-29", "1805-02-29"),
    # IFEvalG.
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

# Responses on which the published code decides otherwise, each with its verdict. Those of the page
# on verdicts are tested beside it.
FAITHFUL: list[tuple[str, dict[str, Any], str, bool]] = [
    ("count:conjunctions", {"small_n": 2}, "and, And", True),
    ("words:alphabet", {}, "Yes — zebras", False),
    ("sentence:increment", {"small_n": 2}, "One. Two three —.", True),
    ("sentence:alliteration_increment", {}, "Big bad bee. Big bad, do dare.", True),
    ("words:last_first", {}, "We “go”. Go far.", False),
    ("format:options", {"options": "a), b), c), d)"}, "b)\n", False),
    ("format:options", {"options": "for, against"}, "f", True),
    ("format:newline", {}, "One two\n \nthree", True),
    ("format:emoji", {}, "One 🇩🇪", False),
    ("format:emoji", {}, "One 😀. ***", False),
    ("custom:mcq_count_length", {}, QUIZ.replace(" 1", ""), False),
    ("custom:sentence_alphabet", {}, STORY.replace("Bbc", '"Bbc"'), False),
    ("custom:european_capitals_sort", {}, CAPITALS.replace("Kyiv, ", ""), True),
    ("custom:csv_city", {}, CITIES.replace("ID,", "ID, "), False),
    ("last_word:last_word_sent", {"last_word": "don't"}, "Please don't.", False),
    ("last_word:last_word_sent", {"last_word": "rain"}, "So... rain.", False),
    ("detectable_format:bigram_wrapping", {}, "<<I>>", True),
    ("keywords:start_end", {}, '"Now" is now', False),
]  # fmt: skip

IDS = list(dict.fromkeys(id_ for id_, *_ in MET))
USUAL = {id_: args for id_, args, *_ in reversed(MET)}


def installed(id_: str) -> None:
    """Skip a test of an id whose package is not installed."""
    package = EXTRA.get(id_)
    if package and importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed (pip install 'heedful[ifbench]')")


def met(id_: str, args: dict[str, Any], text: str, *, faithful: bool = False) -> bool:
    rng = random.Random(0) if faithful else None
    return check(Check(id=id_, args=args), Response(text, faithful=rng)).met


def test_all_58_ids_and_the_29_of_ifevalg_are_there() -> None:
    assert len(IDS) == 58 + 29


@pytest.mark.parametrize(("id_", "args", "good", "bad"), MET)
def test_what_is_met_and_what_is_not(id_: str, args: dict[str, Any], good: str, bad: str) -> None:
    installed(id_)
    assert met(id_, args, good)
    assert not met(id_, args, bad)


@pytest.mark.parametrize(("id_", "args", "text", "verdict"), FAITHFUL)
def test_faithful_scoring_repeats_what_the_published_code_decides(
    id_: str, args: dict[str, Any], text: str, *, verdict: bool
) -> None:
    installed(id_)
    assert met(id_, args, text, faithful=True) is verdict
    assert met(id_, args, text) is not verdict


@pytest.mark.parametrize(
    ("id_", "args", "complaint"),
    [
        ("count:numbers", {"N": 1.5}, "N is 1.5"),
        ("count:numbers", {"N": -1}, r"N is -1.*greater than or equal to 0"),
        ("count:numbers", {}, "N is missing"),
        ("sentence:keyword", {"word": "a", "N": 0}, "N is 0.*greater than 0"),
        ("words:keywords_specific_position", {"keyword": "a", "n": 1}, "m is missing"),
        ("ratio:stop_words", {"percentage": 101}, "percentage is 101.*less than or equal to 100"),
        ("count:keywords_multiple", WORDS | {"keyword6": "f"}, "keyword6 is not an argument"),
        ("format:emoji", {"N": 1}, "takes no arguments"),
        ("count:word_count_range", {"min_words": 3, "max_words": 2}, "min_words 3 is more than"),
        (
            "repeat:repeat_span",
            {"prompt_to_repeat": "a b", "n_start": 0, "n_end": 2},
            r"a span of a request of 2 places \(0 <= n_start <= n_end <= 1\)",
        ),
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


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As on a machine without the extra, whatever earlier tests have imported."""
    imported.cache_clear()
    for name in ("emoji", "syllapy", "HanTa", "HanTa.HanoverTagger"):
        monkeypatch.setitem(sys.modules, name, None)
    yield
    imported.cache_clear()


@pytest.mark.usefixtures("nothing_installed")
@pytest.mark.parametrize("id_", EXTRA)
def test_a_missing_package_is_no_verdict_and_says_how_to_install_it(id_: str) -> None:
    with pytest.raises(VerifierError, match=r"pip install 'heedful\[ifbench\]'"):
        met(id_, {}, "One two")


def test_a_number_has_no_syllables_to_count_unless_the_verdict_stands_without() -> None:
    installed("words:odd_even_syllables")
    assert not met("words:odd_even_syllables", {}, "a dog in 1999")
    with pytest.raises(VerifierError, match="1999"):
        met("words:odd_even_syllables", {}, "a 1999 dog")
    assert met("words:odd_even_syllables", {}, "a 1999 dog", faithful=True)


def test_faithful_scoring_draws_a_place_instead_of_0() -> None:
    span = Check(
        id="repeat:repeat_span",
        args={"prompt_to_repeat": "a b c d e f", "n_start": 0, "n_end": 5},
    )
    verdicts = {Readings("a b c d e", seed=seed).read(span).strict.met for seed in range(40)}
    assert verdicts == {True, False}
    assert Readings("a b c d e f").read(span).strict.met


# --- properties ---------------------------------------------------------------------------------


@given(st.text(st.sampled_from(" \na"), max_size=40))
def test_stairs_lose_blank_lines_as_in_the_published_code(text: str) -> None:
    lines = text.split("\n")
    for line in lines:  # removing from the list that is gone through: that is its defect
        if not line.strip():
            lines.remove(line)
    indents = [len(line) - len(line.lstrip(" ")) for line in lines]
    expected = all(before < line for before, line in pairwise(indents)) and bool(text.strip())
    assert met("format:line_indent", {}, text, faithful=True) is expected


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
        if id_ not in EXTRA:
            assert readings.read(Check(id=id_, args=USUAL[id_])).strict.met in {True, False}


# --- the stored verdicts ------------------------------------------------------------------------


def stored(
    data: Path,
) -> list[tuple[str, str, list[tuple[str, dict[str, Any], tuple[bool, bool]]]]]:
    """List key, response and the checks with their stored verdicts, strict and loose."""

    def read(name: str) -> list[dict[str, Any]]:
        lines = (data / "ifbench" / name).read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]

    prompts = {row["prompt"].strip(): row for row in read("IFBench_test.jsonl")}
    rows = []
    pairs = zip(read("eval_results_strict.jsonl"), read("eval_results_loose.jsonl"), strict=True)
    for strict, loose in pairs:
        row = prompts.get(strict["prompt"].strip())
        if row is not None:  # one prompt is seven that were read as one
            verdicts = zip(
                strict["follow_instruction_list"], loose["follow_instruction_list"], strict=True
            )
            checks = zip(row["instruction_id_list"], row["kwargs"], verdicts, strict=True)
            rows.append((row["key"], strict["response"], list(checks)))
    return rows


def test_faithful_scoring_agrees_with_all_stored_verdicts_but_those_named(data: Path) -> None:
    differing = set()
    for key, response, checks in stored(data):
        readings = Readings(response, seed=0, sample=key)
        for position, (id_, args, verdicts) in enumerate(checks):
            if EXTRA.get(id_) and importlib.util.find_spec(EXTRA[id_]) is None:
                continue
            strict, loose = readings.read(Check(id=id_, args=args), position)
            if (strict.met, loose) != verdicts:
                differing.add((key, id_))
    # docs/evidence.md explains them.
    tagger = {(key, "words:start_verb") for key in ("257", "258", "260", "261")}
    assert differing - tagger == {("163", "ratio:sentence_type")}
