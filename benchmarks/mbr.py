"""Time heedful's choice of the most typical explanation against difflib's, on one core.

    python benchmarks/mbr.py [--data DIR]
    python benchmarks/mbr.py --many 2750

The explanations are made of sentences below, with words exchanged, left out and put in another
order, in Chinese and English, 5 and 10 to choose from, of about 300, 600 and 1,500 characters. DIR
holds ``if_critic/dpo_data.json``; its sampled explanations are timed too. Prints the time of a
choice (median of the rounds, processor time) and how much longer difflib takes; exits with 1 where
a choice differs. ``--many`` makes so many choices of five Chinese explanations of 600 characters by
``ratio``, in this process and in a pool as ``heedful critic filter`` does, and prints what 550,000
would take.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import statistics
import sys
import time
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROUNDS = 5
SETS = 12
SIMILARITIES = ("ratio", "quick_ratio")

Sets = list[list[str]]

CHINESE = (
    "这条要求规定{回复|回答|正文}必须分成三个段落，每个段落只讲一件事情。",
    "{首先|先}看开头，作者{交代|说明}了时间和地点，语气平实，没有多余的修饰。",
    "第二段{提到|写到}老街上的面馆、裁缝铺和一家旧书店，细节{具体|清楚}，前后连贯。",
    "{然而|但是}第三段混入了{两|三}个话题，先谈天气，又转而评论物价，因此显得松散。",
    "按照字面理解，“只讲一件事情”排除了这样的{写法|安排}，不能算作{满足|符合}。",
    "{此外|另外}，结尾处引用了一句谚语，与上文的关系不大，读起来有些突兀。",
    "我逐句{统计|核对}了标点，全文共使用逗号二十七个、句号十一个，没有感叹号。",
    "标题用{黑体|粗体}标出，编号从一开始，顺序正确，也没有遗漏任何一项。",
    "指令还希望语言适合小学生阅读，文中却出现“折旧”“摊销”等{术语|行话}。",
    "从{篇幅|长度}来看，正文大约四百五十字，落在允许的范围之内。",
    "例子一共给了五个，其中四个来自日常生活，一个{取自|来自}历史故事。",
    "{综上|总的来看}，虽然多数细节处理得当，关键的一点仍然没有做到。",
)
ENGLISH = (
    "The constraint asks for {three|exactly three} paragraphs, each about a single subject.",
    "The opening {names|gives} the time and place in a plain tone, without any ornament.",
    "Its second part {describes|mentions} a noodle shop, a tailor and an old bookstore there.",
    "{However|But}, the third paragraph mixes the weather with prices, and so {drifts|wanders}.",
    "Taken literally, a single subject rules out such {an arrangement|a mixture} of topics.",
    "{Besides|Moreover}, the proverb quoted at the end hardly follows from what came before it.",
    "I {counted|checked} the marks one by one: 27 commas, 11 full stops, no exclamation mark.",
    "Headings are set in {bold|bold type}, numbered from one, and none of the items is missing.",
    "The instruction wants words for young readers, yet {depreciation|amortisation} appears twice.",
    "As for {length|size}, the text has about 450 words, which lies within the permitted range.",
    "Five examples are given, four of them from everyday life and one {from|out of} history.",
    "{Overall|In sum}, most details are handled well, but the decisive one is {missing|absent}.",
)


def version(sentences: Sequence[str], length: int, chance: random.Random) -> str:
    """Write one explanation: most of the sentences, words chosen among those in braces."""
    text = ""
    while len(text) < length:
        order = list(range(len(sentences)))
        for _ in range(3):
            at = chance.randrange(len(order) - 1)
            order[at], order[at + 1] = order[at + 1], order[at]
        for number in order:
            if chance.random() < 0.75:  # noqa: PLR2004 - the rest is left out
                text += "".join(_pieces(sentences[number], chance))
    return text[:length]


def _pieces(sentence: str, chance: random.Random) -> Iterator[str]:
    for piece in sentence.split("{"):
        words, brace, rest = piece.partition("}")
        yield chance.choice(words.split("|")) + rest if brace else words
    yield " " if sentence.isascii() else ""


def made(sentences: Sequence[str], number: int, length: int) -> Sets:
    """Write the sets to choose from, the same at every run."""
    chance = random.Random(f"{number}:{length}")
    return [[version(sentences, length, chance) for _ in range(number)] for _ in range(SETS)]


def published(data: Path) -> Sets:
    """Read what IF-Critic sampled: ten explanations of each constraint."""
    from heedful.core.nouns import Recording
    from heedful.data.formats import open_source
    from heedful.judges import prompts

    sets = []
    for row in open_source(data / "if_critic" / "dpo_data.json"):
        if row.sample is None or row.sample.recording is None:
            continue
        critiques = [
            prompts.read(Recording(prompt="if_critic", text=text), row.sample.checklist)
            for text in row.sample.recording.others
        ]
        sets += [[one.explanation for one in each] for each in zip(*critiques, strict=True)]
    return sets


def difflib_pick(texts: Sequence[str], similarity: str) -> int:
    """Choose as IF-Critic's public code does."""
    best, best_score = 0, -1.0
    for at, text in enumerate(texts):
        score = 0.0
        for other in texts:
            score += getattr(SequenceMatcher(None, text, other), similarity)()
        if score > best_score:
            best, best_score = at, score
    return best


def compare(name: str, sets: Sets) -> bool:
    """Time both on the same sets, in turn; print a line for each similarity."""
    from heedful.critic.data.mbr import pick

    same = True
    for similarity in SIMILARITIES:
        times: dict[str, list[float]] = {"difflib": [], "heedful": []}
        for _ in range(ROUNDS):
            picks = {}
            for who, choose in (("difflib", difflib_pick), ("heedful", pick)):
                started = time.process_time()
                picks[who] = [choose(texts, similarity) for texts in sets]
                times[who].append((time.process_time() - started) / len(sets) * 1000)
            same &= picks["difflib"] == picks["heedful"]
        factors = sorted(a / b for a, b in zip(*times.values(), strict=True))
        ours, theirs = (statistics.median(times[who]) for who in ("heedful", "difflib"))
        print(
            f"| {name} | {similarity} | {theirs:.2f} ms | {ours:.2f} ms "
            f"| {statistics.median(factors):.1f} ({factors[0]:.1f} to {factors[-1]:.1f}) |"
        )
    return same


def many(count: int) -> bool:
    """Time so many choices in this process and in a pool, by the clock and the CPUs."""
    from heedful.critic.data import choosing
    from heedful.critic.data.mbr import pick

    sets = (made(CHINESE, 5, 600) * (count // SETS + 1))[:count]
    begun = clocks()
    alone = [pick(texts, "ratio") for texts in sets]
    seconds = {"this process": (begun, clocks())}

    async def pooled() -> list[int]:
        pool = choosing.ChoosingPool()
        pending = iter(enumerate(sets))
        picks = [-1] * count

        async def work() -> None:
            for at, texts in pending:
                picks[at] = await pool.pick(texts, "ratio")

        await asyncio.gather(*(work() for _ in range(64)))
        await pool.close()
        return picks

    begun = clocks()
    together = asyncio.run(pooled())
    seconds[f"a pool on {os.cpu_count()} cores"] = begun, clocks()
    for name, (begun, ended) in seconds.items():
        wall, cpu = (after - before for before, after in zip(begun, ended, strict=True))
        minutes = [f"{each / count * 550_000 / 60:.0f}" for each in (wall, cpu)]
        print(
            f"{name}: {wall:.1f} s, {cpu:.1f} s of CPU; "
            f"550,000 would take {minutes[0]} minutes, {minutes[1]} of CPU"
        )
    return alone == together


def clocks() -> tuple[float, float]:
    """Return the time by the clock, and the CPU time of this process and of those that ended."""
    times = os.times()
    return time.perf_counter(), sum(times[:4])


def main() -> None:
    """Time everything."""
    parser = argparse.ArgumentParser(description="MBR: heedful and difflib")
    parser.add_argument("--data", type=Path, help="folder with if_critic/dpo_data.json")
    parser.add_argument("--many", type=int, help="time so many choices in a pool instead")
    options = parser.parse_args()
    if options.many:
        sys.exit(0 if many(options.many) else "CHOICES DIFFER")
    data: Path | None = options.data
    print("| explanations | similarity | difflib | heedful | ratio, median (range) |")
    print("| --- | --- | --- | --- | --- |")
    same = True
    for language, sentences in (("Chinese", CHINESE), ("English", ENGLISH)):
        for number in (5, 10):
            for length in (300, 600, 1500):
                name = f"{language}, {number} of {length:,} characters"
                same &= compare(name, made(sentences, number, length))
    if data is not None:
        sets = published(data)
        mean = statistics.mean(len(text) for texts in sets for text in texts)
        same &= compare(f"IF-Critic's, 10 of {mean:.0f} characters on average", sets)
    print("\nall choices are the same" if same else "\nCHOICES DIFFER")
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
