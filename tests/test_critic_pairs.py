"""Preference pairs: IF-Critic's own picks and pairs, and what holds for all."""

import difflib
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import run
from critiques import critique, cut, item, write
from heedful.core.errors import UsageError
from heedful.core.nouns import Sample
from heedful.critic.data.mbr import SIMILARITIES, pick
from heedful.critic.data.pairs import METHODS, Method, Pairs
from heedful.judges.prompts import make
from jsonl import read_rows


def texts(pairs: Pairs) -> list[dict[str, str]]:
    return [{"chosen": pair.chosen, "rejected": pair.rejected} for pair in pairs]


def test_the_published_pairs_come_out_text_for_text(data: Path, tmp_path: Path) -> None:
    source, output = data / "if_critic" / "dpo_data.json", tmp_path / "pairs.jsonl"
    options = ["--format", "if-critic", "--similarity", "quick_ratio", "--candidates", "1"]
    options += ["--seed", "42"]
    assert run("critic", "pairs", source, *options, "-o", output) == 0
    expected = json.loads((source.parent / "dpo_pairs_expected.json").read_text("utf-8"))
    made = read_rows(output)
    assert [{key: pair[key] for key in ("chosen", "rejected")} for pair in made] == expected
    summary = json.loads((tmp_path / "pairs.summary.json").read_text("utf-8"))
    assert summary["critiques"] == {"sampled": 130, "compared": 130, "unparsed": 0}
    table = summary["agreement"]
    assert table["expert_met"] == {"sampled_met": 444, "sampled_unmet": 16}
    assert table["expert_unmet"] == {"sampled_met": 33, "sampled_unmet": 107}
    assert table["positive_f1"] == pytest.approx(888 / 937)
    assert table["negative_f1"] == pytest.approx(214 / 263)


verdicts = st.text("+-", min_size=3, max_size=3)


@pytest.mark.slow
@given(
    verdicts,
    st.lists(verdicts, min_size=1, max_size=5),
    st.sampled_from(METHODS),
    st.sampled_from(["if_critic", "plain", "structured"]),
    st.integers(1, 5),
)
def test_pairs_differ_where_verdicts_do(
    expert: str, signs: list[str], method: Method, prompt: str, candidates: int
) -> None:
    others = [critique(each, f" ({at})", prompt) for at, each in enumerate(signs)]
    sample = item(critique(expert, prompt=prompt), *others, prompt_name=prompt)
    pairs = Pairs([sample], method=method, candidates=candidates)
    for pair in pairs:
        assert pair.segments
        number = int(pair.id.removeprefix("1#")) - 1
        wrong = {at + 1 for at in range(3) if signs[number][at] != expert[at]}
        assert pair.rejected == others[number]
        assert {segment.number for segment in pair.segments} == wrong
        for segment in pair.segments:
            chosen = pair.chosen[slice(*segment.chosen)]
            rejected = pair.rejected[slice(*segment.rejected)]
            assert chosen.startswith("I looked at constraint")
            assert rejected.startswith("I looked at constraint")
            assert chosen != rejected
        if method == "constraint-level":
            outside = cut(pair.chosen, [segment.chosen for segment in pair.segments])
            assert outside == cut(pair.rejected, [segment.rejected for segment in pair.segments])
        elif method == "expert":
            assert pair.chosen == sample.recording.text  # type: ignore[union-attr]
        else:
            assert pair.chosen in others
    counted = pairs.summary()
    assert counted["items"]["with_pairs"] + sum(counted["without_pairs"].values()) == 1
    assert texts(pairs) == texts(pairs)


def test_the_chosen_judgment_is_the_most_typical_one_that_the_expert_shares() -> None:
    typical = [critique("+-+", note) for note in (" at length", " at some length", " at length.")]
    sample = item(critique("+-+"), critique("+++", " badly"), *typical)
    (pair,) = Pairs([sample])
    (segment,) = pair.segments
    assert (segment.number, segment.verdict) == (2, "unmet")
    judged = make("if_critic").parse(pair.chosen, sample.checklist)
    assert [each.status for each in judged] == ["met", "unmet", "met"]
    assert judged[1].explanation == "I looked at constraint 2 at length."
    assert judged[0].explanation == "I looked at constraint 1 badly."


def test_draws_follow_the_seed_and_the_order_of_the_items() -> None:
    signs = ["-++", "+-+", "++-", "+++"]
    samples = [
        item(critique("+++"), *(critique(each, f" {n}") for each in signs), id=str(n))
        for n in range(8)
    ]
    drawn = [pair.id for pair in Pairs(samples)]
    assert drawn == [pair.id for pair in Pairs(samples, seed=42)]
    assert drawn != [pair.id for pair in Pairs(samples, seed=1)]
    assert drawn[:4] == [pair.id for pair in Pairs(samples[:4])]
    assert len(list(Pairs(samples, candidates=2))) == 16
    everything = [pair.id for pair in Pairs(samples[:1], candidates=9)]
    assert everything == ["0#1", "0#2", "0#3"]


BROKEN: list[tuple[Sample, str]] = [
    (item(None, critique("+++")), "no expert critique (give it as recording.text"),
    (item(critique("+++")), "no sampled critiques (sample them with heedful critic sample)"),
    (item("It is fine.", critique("+++")), "the expert critique does not parse"),
    (item(critique("++"), critique("+++")), "the expert critique does not parse: 2 blocks for 3"),
    (item(critique("+++"), "no"), "no sampled critique parses"),
    (
        item("[]", "[]", prompt_name="advancedif"),
        "critiques by the prompt advancedif cannot be taken apart by constraint (sample them in",
    ),
]


@pytest.mark.parametrize(("sample", "message"), BROKEN)
def test_what_is_wrong_with_an_item_is_named(sample: Sample, message: str) -> None:
    pairs = Pairs([item(critique("+++"), critique("+-+"), critique("+++"), id="good"), sample])
    assert [pair.sample for pair in pairs] == ["good"]
    summary = pairs.summary()
    assert summary["items"] == {"all": 2, "with_pairs": 1, "broken": 1}
    (problem,) = summary["problems"]
    assert problem["line"] == 2
    assert message in problem["problem"]


def test_items_that_are_in_order_and_give_no_pair_are_counted() -> None:
    agreed = item(critique("+++"), critique("+++"), critique("+++", " too"))
    nothing_right = item(critique("-++"), critique("+++"), critique("+++", " too"))
    pairs = Pairs([agreed, nothing_right])
    assert list(pairs) == []
    summary = pairs.summary()
    assert summary["items"]["broken"] == 0
    assert list(summary["without_pairs"].values()) == [1, 1]
    assert len(list(Pairs([nothing_right], method="expert"))) == 1


def test_a_native_file_gives_the_pairs_of_the_samples_in_it(tmp_path: Path) -> None:
    sample = item(critique("+++"), critique("+-+"), critique("+++", " too"))
    broken: dict[str, Any] = {"id": "2"}
    source = write(tmp_path / "in.jsonl", [sample, broken])
    output = tmp_path / "out.jsonl"
    assert run("critic", "pairs", source, "-o", output) == 1
    (pair,) = Pairs([sample])
    assert read_rows(output) == [json.loads(json.dumps(pair.record()))]
    assert pair.prompt[0].role == "user"
    assert "Use no commas." in pair.prompt[0].content


def test_wrong_options_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample = item(critique("+++"), critique("+-+"))
    with pytest.raises(UsageError, match="best"):
        Pairs([sample], method="best")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="candidates is 0"):
        Pairs([sample], candidates=0)
    source = write(tmp_path / "in.jsonl", [sample])
    assert run("critic", "pairs", source, "-o", source) == 2
    assert source.name in capsys.readouterr().err


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
