"""What scripted models get accepted that propose checks: an honest, a sloppy and a malicious one.

    python benchmarks/proposals.py --data DIR
    python benchmarks/proposals.py --data DIR --model NAME --base-url URL

With a model, it proposes for 20 texts, half of which have a check of the compiler.

The truth is the compiler's own check, which none of the requests mentions. The honest model
proposes it, compares and writes examples truthfully, and proposes nothing where the text does not
compile. The sloppy one proposes a wrong check, agrees to everything, and writes truthful examples.
The malicious one proposes a wrong check, agrees to everything, and writes examples that fit it.
Wrong checks are made from right ones: other numbers, units, parts, phrases, verifiers, one of two
conditions left out, two swapped, and the checks of other texts.
"""

from __future__ import annotations

import argparse
import asyncio
import copy
import json
import random
from collections import Counter
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.core.errors import VerifierError
from heedful.core.nouns import Check
from heedful.data import formats
from heedful.jobs.checklists.proposing import Proposer
from heedful.judges.prompts import unfence
from heedful.models import OpenAIModel, Sampling, ScriptedModel
from heedful.verify import Response
from heedful.verify.base import check as run_check
from heedful.verify.compiler.compile import compile_constraint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from heedful.core.nouns import Message
    from heedful.models import Model

FILES = (
    "cfbench/cfbench_data.json",
    "sysbench/gpt35.jsonl",
    "if_critic/checklists.json",
    "if_critic/dpo_data.json",
)
UNCOMPILED = 1500
"""Texts without a check of the compiler for which checks are proposed, chosen at random."""

REAL_TEXTS = 20

TEXTS_TRIED = 150
"""Texts among which a truthful model looks for examples."""

MOST_SENTENCES = 100

PLAIN_TEXTS = (
    *("今天天气很好。", "The sky is blue.", '{"a": 1}', "# 标题\n\n内容。", "**标题**\n\n内容。"),
    *("- 一\n- 二", "1. 一\n2. 二", "| a | b |\n| --- | --- |\n| 1 | 2 |", "```\nx\n```"),
    *("<p>text</p>", "hello there", "HELLO THERE", "Wie geht es dir heute, mein Freund?"),
)

PHRASED = ("contains", "excludes", "starts_with", "ends_with", "does_not_start_with", "equals")


def main() -> None:
    """Run the three characters and print what came of their proposals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", help="a real one, in place of the scripted ones")
    parser.add_argument("--base-url", help="where it answers")
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    truth = _truth(arguments.data)
    compiled = {text: check for text, check in truth.items() if check is not None}
    if arguments.model:
        half = REAL_TEXTS // 2
        texts = chance.sample(list(compiled), half)
        texts += chance.sample([text for text in truth if truth[text] is None], half)
        model = OpenAIModel(arguments.model, base_url=arguments.base_url)
        asyncio.run(_show_real(model, texts, truth))
        return
    others = chance.sample([text for text in truth if truth[text] is None], UNCOMPILED)
    pool = list(compiled.values())
    wrong = [
        (text, bad)
        for text, check in compiled.items()
        for bad in _wrong(check, chance.sample(pool, 3))
        if bad != check
    ]
    strange = [(text, bad) for text in others for bad in _strange(text, chance.sample(pool, 3))]
    print(f"{len(truth):,} texts, {len(compiled):,} with a check of the compiler (seed 0)")
    honest = [*compiled.items(), *((text, None) for text in others)]
    _show("honest, right checks", honest, _truthful(truth))
    _show("sloppy, wrong checks", wrong, _truthful(truth), agrees=True)
    _show("malicious, wrong checks", wrong, None, agrees=True)
    _show("malicious, texts that don't compile", strange, None, agrees=True)


async def _show_real(model: Model, texts: Sequence[str], truth: dict[str, Check | None]) -> None:
    """Let a model propose, and print what came of each text."""
    sampling = Sampling(max_tokens=200)
    for text in texts:
        proposal = await Proposer(model, sampling).propose(text)
        outcome = proposal.problem or proposal.reason or f"ACCEPTED {proposal.check}"
        known = "the compiler has a check" if truth[text] else "no check"
        print(f"{text!r} ({known}): {outcome} {proposal.detail}")


def _truth(data: Path) -> dict[str, Check | None]:
    """Compile all texts; those with two readings are left out, as no check decides them."""
    truth: dict[str, Check | None] = {}
    for name in FILES:
        for row in formats.read(data / name):
            for constraint in row.sample.checklist if row.sample else ():
                check = compile_constraint(constraint.text).check
                if check is None or "either_reading" not in repr(check):
                    truth[constraint.text] = check
    return truth


def _show(
    title: str,
    proposals: Sequence[tuple[str, Check | None]],
    examples: Callable[[str], tuple[list[str], list[str]]] | None,
    *,
    agrees: bool = False,
) -> None:
    """Propose checks, and count what came of them.

    Args:
        title: of the line.
        proposals: texts and checks.
        examples: writes examples of a text; ``None`` for those of the proposed check.
        agrees: agree to whatever is compared; otherwise only a right check is compared.
    """
    outcomes: Counter[str] = Counter()
    for text, check in proposals:
        write = examples or partial(_fitted, check)
        model = _scripted(check, write, agrees=agrees or check is not None)
        proposal = asyncio.run(Proposer(model).propose(text))
        outcomes[proposal.reason or "ACCEPTED"] += 1
    counts = ", ".join(f"{name} {count:,}" for name, count in outcomes.most_common())
    print(f"{title}: {len(proposals):,} proposals: {counts}")


def _scripted(
    check: Check | None, examples: Callable[[str], tuple[list[str], list[str]]], *, agrees: bool
) -> ScriptedModel:
    def reply(messages: Sequence[Message], _: int) -> str:
        prompt = messages[0].content
        if "a_implies_b" in prompt:
            return json.dumps({"a_implies_b": agrees, "b_implies_a": agrees})
        if '"meet"' in prompt:
            meet, violate = examples(unfence(prompt)[0].text)
            return json.dumps({"meet": meet, "violate": violate})
        return json.dumps({"check": None if check is None else check.model_dump()})

    return ScriptedModel(reply)


def _fitted(check: Check | None, _: str) -> tuple[list[str], list[str]]:
    return _examples(check)


def _truthful(truth: dict[str, Check | None]) -> Callable[[str], tuple[list[str], list[str]]]:
    return lambda text: _examples(truth[text])


def _examples(check: Check | None) -> tuple[list[str], list[str]]:
    """Find two texts that meet a check and two that violate it, among some made for it."""
    met: dict[str, None] = {}
    unmet: dict[str, None] = {}
    if check is None:
        return [], []
    for text in islice(_texts(check), TEXTS_TRIED):
        try:
            finding = run_check(check, Response(text))
        except VerifierError:
            continue
        (met if finding.met else unmet)[text] = None
        if len(met) > 1 and len(unmet) > 1:
            break
    return list(met)[:2], list(unmet)[:2]


def _texts(check: Check) -> Iterator[str]:
    """Make texts of many lengths and forms, with and without the check's phrases."""
    checks = [check, *(Check.model_validate(each) for each in check.args.get("checks", ()))]
    bounds = [each.args.get(name) for each in checks for name in ("at_least", "at_most")]
    numbers = {n + shift for n in bounds if n is not None for shift in (-1, 0, 1) if n + shift > 0}
    phrases = [phrase for each in checks for phrase in each.args.get("phrases", ())]
    joined = {"".join(phrases), *phrases}
    for body in (*PLAIN_TEXTS, *_counted(sorted(numbers or {1, 2, 3}))):
        yield body
        for phrase in joined - {""}:
            yield from (f"{phrase}{body}", f"{body}{phrase}", f"{body}{phrase}{body}", phrase)
        if len(phrases) > 1:
            yield f"{phrases[0]}{body}{phrases[-1]}"


def _counted(numbers: Sequence[int]) -> Iterator[str]:
    for number in numbers:
        yield from ("好" * number, "word " * number, "这是一句话。" * number, "A b c. " * number)
        yield "\n\n".join(["这是一段话，有内容。"] * number)
        yield "\n\n".join(["这是一句话。" * min(number, 20)] * 2)
        yield from ("\n".join(["一行字"] * number), "天气好。" + "😀" * number)
        yield "\n".join(f"{k + 1}. 内容" for k in range(number))
        for other in numbers:
            if number * other < MOST_SENTENCES:
                yield "\n\n".join(["这是一句话。" * other] * number)


def _wrong(check: Check, others: Sequence[Check]) -> Iterator[Check]:
    """Make wrong checks of a right one."""
    id_, args = check.id, check.args
    for key in ("at_least", "at_most"):
        if isinstance(args.get(key), int):
            yield Check(id=id_, args={**args, key: args[key] + 1})
            rest = {name: value for name, value in args.items() if name != key}
            if {"at_least", "at_most"} & rest.keys():
                yield Check(id=id_, args=rest)
            else:
                turned = "at_most" if key == "at_least" else "at_least"
                yield Check(id=id_, args={**rest, turned: args[key]})
    if "unit" in args:
        unit = "sentences" if args["unit"] != "sentences" else "paragraphs"
        yield Check(id=id_, args={**args, "unit": unit})
        yield Check(id=id_, args={"unit": args["unit"], "at_least": 0})
    if "part" in args:
        yield Check(id=id_, args={k: v for k, v in args.items() if k not in ("part", "which")})
    elif "unit" in args or "phrases" in args:
        yield Check(id=id_, args={**args, "part": "paragraph"})
    yield from _wrong_conjunctions(check)
    yield from _wrong_phrases(check)
    for key, values in {"format": ("list", "table"), "language": ("fr", "de")}.items():
        if key in args:
            yield Check(id=id_, args={key: values[args[key] == values[0]]})
    yield from others
    yield Check(id="heedful:count", args={"unit": "words", "at_least": 1})
    yield Check(id="heedful:format", args={"format": "plain_text"})


def _wrong_conjunctions(check: Check) -> Iterator[Check]:
    checks = check.args.get("checks", ())
    for at in range(len(checks)):
        yield Check(id=check.id, args={"checks": [*checks[:at], *checks[at + 1 :]]})
        changed = copy.deepcopy(list(checks))
        if changed[at]["args"].pop("part", None):
            changed[at]["args"].pop("which", None)
            yield Check(id=check.id, args={"checks": changed})
    for key in ("phrases", "at_most", "at_least"):
        if len(checks) > 1 and all(key in each["args"] for each in checks[:2]):
            swapped = copy.deepcopy(list(checks))
            first, second = swapped[0]["args"], swapped[1]["args"]
            first[key], second[key] = second[key], first[key]
            yield Check(id=check.id, args={"checks": swapped})


def _wrong_phrases(check: Check) -> Iterator[Check]:
    phrases = check.args.get("phrases", [])
    if not phrases:
        return
    rest: dict[str, Any] = {k: check.args[k] for k in ("part", "which") if k in check.args}
    for name in PHRASED:
        if f"heedful:{name}" != check.id:
            yield Check(id=f"heedful:{name}", args={"phrases": phrases, **rest})
    if len(phrases) > 1:
        yield Check(id=check.id, args={**check.args, "phrases": phrases[1:]})
    yield Check(id=check.id, args={**check.args, "phrases": [f"{phrases[0]}x", *phrases[1:]]})


def _strange(text: str, others: Sequence[Check]) -> Iterator[Check]:
    """Propose something for a text that does not compile: what it mentions, or anything."""
    yield from compile_constraint(text).measures
    yield from others


if __name__ == "__main__":
    main()
