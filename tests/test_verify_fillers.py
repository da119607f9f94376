"""Every word of a constraint reaches its check, or is known to change nothing."""

from __future__ import annotations

import json
import random
import re
from functools import cache
from importlib import resources
from itertools import islice
from typing import TYPE_CHECKING

import pytest

from heedful.core.nouns import Check
from heedful.data import formats
from heedful.verify.compiler.compile import compile_constraint
from test_plain_constraints import CASES
from test_verify_compiler import COMPILES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TEXTS = [*(text for text, _ in COMPILES), *(text for text, *_ in CASES)]

# Words whose absence leaves a check as it is, read one by one: who is spoken of, politeness and
# auxiliary verbs, verbs that only say "write", kinds of documents, nouns that name again what a
# quoted phrase, a number or another word tells already. None of them counts, bounds or selects.
FILLERS = frozenset(
    """
    a additionally allowed also and answer anywhere are ask be can completely consisting contain
    contains create did do does emoji ensure entire entirely everything explicitly following
    format formatted generate give has have in include is it keep keywords language letters limit
    limited list long make may me mentioning must of organize paragraph phrase please point points
    present provide put reply respond response return should somewhere square summarize sure that
    the there these throughout to use using whole with words wrap wrapped write written you your
    一共 一条 一首 上 与 且 严格 严格控制 个 个关键词 中 为 之间 书写 了 以 以下 任何 任意 但 作
    作为 作文 作答 你的 你的回答 使用 保持 保证 信息 修改后的 倡议书 全 全文 全诗 公文 关键 关键字
    关键词 内容 写 出 出现 出现了 分 分为 分为了 列出 创作 创作的 加 加上 加入 包含 包括 博客 博文
    即可 句 句中 句子数量 句数 句话 同时 含 呈现 和 回复 回复内容 回答 回答内容 在 处 字 字数
    字数数量 字母 字眼 字符 字符长度 完整 将 将结果以 展示 带 并 并且 应 应在 应该 建议 形式 得
    心得体会 必须 总 总字数 总长度 成语 报告 括起来 按照 控制 推荐信 描述 提交 撰写 改写后的 故事
    散文 数据 数量 整个 整体 整篇 文中 文字 文末 文本 文案 文档 文章 文章的 新闻稿 方式 既 是 是否
    有 条 构成 标签 格式 次 歌词 正文 段 段数 润色后的 演讲稿 生成的 用 由 的 的形式 的格式 短文
    短诗 确保 符号 答案 篇 篇幅 组成 结构 结果 给 给出 编写 能 自然 至 英文 英文字母 表情 表情符号
    表示 表达 要 要求 要用 论文 词汇 词语 诗 诗歌 话 话题 该 语 语言 请 软文 输出 输出信息
    输出内容 输出格式 输出的 输出结果 输出语言 返回 返回内容 返回数据 返回结果 这 这个 这首诗 进行
    进行回答 通知 邮件 部分 采用 里 长度 阐述 限制 限定 需 需严格 需在 需要 首
    """.split()  # noqa: SIM905
)

# Words that count, bound or select elsewhere, each with the checks that hold without them.
_FILLERS_OF = {
    "case": "全部",
    "chinese_script": "中文",
    "contains": "address appear each email line sentence 各 官网",
    "contains_any": "至少",
    "count": """
        about approximately count length lists max numbered single there's total 共写 列表 只写 只有
        只用 只能 只能为 只能用 大约 左右 恰好包含 技巧 数 标题 点 约 至少一个 表
    """,
    "ends_with": "exact",
    "language": "email",
    "equals": "either let or 只需",
    "excludes": "british competitors 第一人称 通篇",
    "format": "double 数字",
    "json": "extra keys object other",
    "mentions": "phone",
    "separated": "divider",
    "starts_with": "every things",
    "table": "做",
    "contains count": "for",
    "contains starts_with": "both",
    "contains_any excludes": "或",
    "count does_not_mention": "及",
    "count table": "共",
    "format json": "valid 最终",
    "json language": "仅",
    "case count each_word": "any",
    "case count language": "all",
    "count equals language": "只",
    "count format separated": "markdown",
    "count json table": "exactly",
    "ends_with_emoji json table": "一个",
    "contains count ends_with excludes": "word",
    "case contains count ends_with starts_with": "都",
    "case count equals json language": "only",
    "classical_poem contains count equals excludes": "一",
    "ends_with ends_with_emoji question starts_with table": "一",
}
FILLERS_OF: dict[str, set[str]] = {}
for _names, _words in _FILLERS_OF.items():
    for _word in _words.split():
        FILLERS_OF.setdefault(_word, set()).update(f"heedful:{name}" for name in _names.split())

# "Paragraphs have 50 words each" says the same without its last word, or with "all" before it.
OF_EACH = frozenset({"each", "all", "every", "每", "各", "都", "都要", "每个", "每句"})

# None of these may be put into a constraint without its meaning something else.
MEANINGFUL = ["each", "every", "apiece", "numbered", "not", "other", "average", "body", "or so"]
MEANINGFUL += ["per paragraph", "in the last paragraph", "excluding the title", "if asked"]
MEANINGFUL += ["numbered 1 to 7", "unless asked", "except for the title", "in the first line"]
MEANINGFUL += ["on average", "only in the first part", "different", "half", "ideally", "most"]
MEANINGFUL_ZH = ["每", "各", "平均", "不", "尽量", "其他", "最后", "每条", "除标题外", "如果需要"]
MEANINGFUL_ZH += ["第一段", "不同", "连续", "半", "以外", "非", "最好", "一半"]

_HAN = re.compile("[\u3400-\u9fff]")
_QUOTED = re.compile(
    r"[\"“”「『'‘’](?<!\w.).+?[\"“”」』'’](?!\w)|<<.*?>>|\[.*?\]|【.*?】|(?<!\w)\*.+?\*"
)


@cache
def chinese_words() -> frozenset[str]:
    """The Chinese words of the grammar."""
    folder = resources.files("heedful.verify.compiler")
    grammar = folder.joinpath("grammar.txt").read_text(encoding="utf-8")
    return frozenset(re.findall("[\u3400-\u9fff]+", grammar))


def words(text: str) -> Iterator[tuple[int, int]]:
    """Where the words of a text stand, but for quotations and examples."""
    shielded = _QUOTED.sub(lambda match: "_" * len(match[0]), text)
    yield from (match.span() for match in re.finditer(r"[A-Za-z][A-Za-z'’-]*", shielded))
    for start in (match.start() for match in _HAN.finditer(shielded)):
        for end in range(start + 1, min(len(text), start + 7) + 1):
            if shielded[start:end] in chinese_words():
                yield start, end


def inner(check: Check) -> list[Check]:
    """The checks of a check: those within it, or itself."""
    within = [Check.model_validate(each) for each in check.args.get("checks", [])]
    return [leaf for each in within for leaf in inner(each)] or [check]


def ids(check: Check) -> set[str]:
    """The verifiers of a check and of the checks within it."""
    return {each.id for each in inner(check)}


def is_of_each(check: Check) -> bool:
    """Whether a check says "each" of a part: then it doesn't matter how often its text does."""
    return any(
        each.args.get("which") == "each" or each.id == "heedful:separated" for each in inner(check)
    )


def swallowed(text: str) -> list[str]:
    """The words of a text that its check does not depend on, and that no list names."""
    check = compile_constraint(text).check
    if check is None:
        return []
    without_effect = []
    for start, end in words(text):
        word = text[start:end].lower()
        if word in FILLERS or FILLERS_OF.get(word, set()) & ids(check):
            continue
        if word in OF_EACH and is_of_each(check):
            continue
        if compile_constraint(text[:start] + text[end:]).check == check:
            without_effect.append(word)
    return without_effect


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    TEXTS,
)
def test_no_word_of_a_constraint_is_swallowed(text: str) -> None:
    assert not swallowed(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "cfbench/cfbench_data.json",
        "sysbench/gpt35.jsonl",
        "if_critic/checklists.json",
        "if_critic/sft_data.json",
        "trace/2024_trace_evaluation.jsonl",
    ],
)
def test_no_word_of_real_constraints_is_swallowed(data: Path, name: str) -> None:
    rows = islice(formats.open_source(data / name), 1000)
    samples = [row.sample for row in rows if row.sample is not None]
    texts = {constraint.text for sample in samples for constraint in sample.checklist}
    assert any(compile_constraint(text).check for text in texts)
    assert not {text: words for text in texts if (words := swallowed(text))}


def prompts_of(data: Path, name: str) -> list[str]:
    """The prompts of a benchmark."""
    if name == "ifeval":
        lines = (data / "ifeval" / "input_data.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line)["prompt"] for line in lines]
    files = sorted((data / name).glob("*_constraints.json"))
    return [row["instruction"] for file in files for row in json.loads(file.read_bytes())]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ifeval", "followbench"])
def test_no_word_of_real_prompts_is_swallowed(data: Path, name: str) -> None:
    prompts = prompts_of(data, name)
    pieces = {piece for each in prompts for piece in re.split(r"(?<=[.!?])\s+|\n+", each)}
    texts = {piece for piece in pieces if len(piece) < 90}
    assert any(compile_constraint(text).check for text in texts)
    assert not {text: words for text in texts if (words := swallowed(text))}


def inserted(text: str, word: str) -> Iterator[str]:
    """A text with a word put in at each place where one can stand."""
    shielded = _QUOTED.sub(lambda match: "_" * len(match[0]), text)
    if _HAN.search(shielded):
        for at in range(len(text) + 1):
            if not (shielded[:at].endswith("_") and shielded[at:].startswith("_")):
                yield text[:at] + word + text[at:]
    else:
        for place in re.finditer(r"(?<!^) |(?=[.?]?$)", shielded):
            yield f"{text[: place.start()]} {word} {text[place.end() :]}".replace(" .", ".")


def unchanged(text: str, added: list[str]) -> list[str]:
    """The texts with a word more that make the same check as the text without it."""
    check = compile_constraint(text).check
    variants = [
        variant
        for word in added
        if check is not None and word not in text and not (word in OF_EACH and is_of_each(check))
        for variant in inserted(text, word)
    ]
    return [each for each in variants if compile_constraint(each).check == check]


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    TEXTS,
)
def test_a_word_that_means_something_changes_the_check(text: str) -> None:
    words = MEANINGFUL_ZH if _HAN.search(text) else MEANINGFUL
    assert not unchanged(text, random.Random(text).sample(words, 4))
