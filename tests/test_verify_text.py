from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.verify import Response
from heedful.verify.text.language import language_of, likeliest_language
from heedful.verify.text.sentences import (
    LOWER_INSIDE,
    NUMBER,
    UPPER_INSIDE,
    Parameters,
    Splitter,
    built_in,
    punkt,
)
from heedful.verify.text.words import treebank_words

if TYPE_CHECKING:
    from pathlib import Path

OWN = Splitter(built_in())


def test_words_and_paragraphs_are_counted_as_ifeval_does() -> None:
    response = Response("don't re-do it_all 3.5\n\n \n\n日本語です")
    assert response.words == ["don", "t", "re", "do", "it_all", "3", "5", "日本語です"]
    assert response.paragraphs == ["don't re-do it_all 3.5", "日本語です"]


SENTENCES = [
    "Dr. Smith met J. Bach in Jan. 2020. | They talked.",
    "The U.S. Government paid $5.50. | Why?",
    '"It rains." | So he said.',
    "He left. | (Then he came back.) | Good!",
    "One... | Two!!! | Three?",
    "Two things: 1. | First thing 2. | Second thing",
    "The bill of 3. may be late.",
    "We live in plan B. | The rest is known.",
    "No end",
]  # fmt: skip


@pytest.mark.parametrize("marked", SENTENCES)
def test_the_word_lists_split_plain_english(marked: str) -> None:
    sentences = marked.split(" | ")
    assert OWN.split(" ".join(sentences)) == sentences


@given(st.text(st.sampled_from("ab AB.!?\"')( \n5-*,…”中")))
def test_sentences_lose_nothing_but_white_space(text: str) -> None:
    spans = OWN.spans(text)
    assert [end for _, end in spans[:-1]] <= [start for start, _ in spans[1:]]
    left = "".join(text[start:end] for start, end in spans)
    assert "".join(left.split()) == "".join(text.split())


def test_what_is_known_of_words_decides() -> None:
    def split(
        text: str,
        *,
        abbreviations: tuple[str, ...] = (),
        pair: tuple[str, str] = ("", ""),
        starter: str = "",
        seen: int = 0,
    ) -> list[str]:
        known = Parameters(
            "test", set(abbreviations), {pair}, {starter}, lambda word: seen * (word == "everest")
        )
        return Splitter(known).split(text)

    whole, parts = ["Up mt. Everest"], ["Up mt.", "Everest"]
    assert split(whole[0]) == parts
    assert split(whole[0], abbreviations=("mt",)) == whole
    assert split(whole[0], pair=("mt", "everest")) == whole
    assert split(whole[0], abbreviations=("mt",), starter="everest") == parts
    assert split(whole[0], abbreviations=("mt",), seen=LOWER_INSIDE) == parts
    assert split(whole[0], abbreviations=("mt",), seen=LOWER_INSIDE | UPPER_INSIDE) == whole
    assert split("On 3. Everest", pair=(NUMBER, "everest")) == ["On 3. Everest"]
    assert split("By J. Everest") == ["By J. Everest"]
    assert split("By J. Everest", seen=LOWER_INSIDE) == ["By J.", "Everest"]


PUNKT = {
    "abbrev_types.txt": "blah\n",
    "collocations.tab": "b\tsmith\n",
    "sent_starters.txt": "the\n",
    "ortho_context.tab": "the\t34\n",
}


def install(folder: Path) -> None:
    folder.mkdir(parents=True)
    for name, text in PUNKT.items():
        (folder / name).write_text(text, encoding="utf-8")


def rules(nltk_data: Path, home: Path) -> str:
    """Print the rules and the sentences of a text in a process with data in that place."""
    code = (
        "from heedful.verify import Response, sentence_rules;"
        "print(sentence_rules(), len(Response('Some blah. Thing').sentences))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"NLTK_DATA": str(nltk_data), "HOME": str(home)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.strip()


def test_punkt_data_is_used_where_it_is_installed(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "tokenizers" / "punkt_tab" / "english"
    install(folder)
    assert rules(tmp_path / "data", tmp_path) == f"punkt_tab at {folder} 1"


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("It's 3.5, isn't it?", "It 's 3.5 , is n't it ?"),
        ('He said: "Go (now)."', "He said : `` Go ( now ) . ''"),
        (
            "U.S. dogs' cannot... 'tis 'quoted' 10:30",
            "U.S. dogs ' can not ... ' tis ' quoted ' 10:30",
        ),
        ("“So” – it--is <b>", "“ So ” – it -- is < b >"),
        ("", ""),
    ],
)
def test_words_are_parted_as_in_the_penn_treebank(text: str, tokens: str) -> None:
    assert treebank_words([text]) == tokens.split()


LANGUAGES = [
    "The quick brown fox jumps over the lazy dog. Write to a@b.org or see https://b.org/x.",
    "Der schnelle braune Fuchs springt über den faulen Hund.",
    "LE RENARD BRUN SAUTE PAR-DESSUS LE CHIEN. ABC DEf GHIj",
    "Con cáo nâu nhanh nhẹn nhảy qua con chó lười biếng.",
    "素早い茶色の狐がのろまな犬を飛び越える。English words too.",
    "敏捷的棕色狐狸跳过了懒狗。",
    "Быстрая коричневая лиса перепрыгивает через ленивую собаку.",
    "तेज़ भूरी लोमड़ी आलसी कुत्ते के ऊपर कूद जाती है।",
    "الثعلب البني السريع يقفز فوق الكلب الكسول.",
    "YES",
    "a",
    "x  y   z",
    "123 !?",
    "",
]


@pytest.fixture(scope="module")
def langdetect_says() -> dict[str, str | None]:
    import langdetect

    def detect(text: str) -> str | None:
        try:
            return str(langdetect.detect(text))
        except langdetect.LangDetectException:
            return None

    langdetect.DetectorFactory.seed = 0
    return {text: detect(text) for text in LANGUAGES}


@pytest.mark.parametrize("text", LANGUAGES)
def test_the_language_is_langdetects(text: str, langdetect_says: dict[str, str | None]) -> None:
    assert language_of(text) == langdetect_says[text]


def test_installed_punkt_data_gives_the_same_verdicts(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NLTK_DATA", str(data / "nltk_data"))
    parameters = punkt()
    assert parameters is not None
    trained = Splitter(parameters)
    path = data / "ifeval" / "input_response_data_gpt4_20231107_145030.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    texts = [json.loads(line)["response"] for line in lines]
    different = [text for text in texts if len(trained.split(text)) != len(OWN.split(text))]
    assert len(different) <= 0.01 * len(texts)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "Der Zug nach Bern fährt heute wegen einer Störung nicht vor dem späten Abend."),
        ("fr", "Il est essentiel de consommer des aliments variés tout au long de la semaine."),
        ("en", "The train to the coast does not leave before the evening because of the snow."),
        (
            "ko",
            "levee와 embankment의 차이점은 다음과 같습니다: 둘의 용도는 물을 방어하는 것입니다.",
        ),
        ("ja", "これは日本語の文章です。"),
        (None, "123 + 4"),
        (None, ""),
    ],
)
def test_the_likeliest_language_does_not_depend_on_case_or_repetition(
    language: str | None, text: str
) -> None:
    told = [likeliest_language(each) for each in (text, text.upper(), f"{text} " * 200)]
    assert told == [language] * 3
