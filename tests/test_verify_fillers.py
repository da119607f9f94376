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
from plain_chinese_last import TEXTS as CHINESE_LAST
from plain_chinese_later import TEXTS as CHINESE_LATER
from plain_fresh import EN as FRESH
from plain_fresh import ZH as FRESH_ZH
from plain_kinds import TEXTS as KINDS
from plain_more import LATER
from plain_texts import TEXTS
from plain_words import MORE
from plain_words import TEXTS as WORDS
from test_verify_compiler import COMPILES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Words whose absence leaves a check as it is, read one by one: who is spoken of, politeness and
# auxiliary verbs, verbs that only say "write", kinds of documents, nouns that name again what a
# quoted phrase, a number or another word tells already. None of them counts, bounds or selects.
FILLERS = frozenset(
    """
    answer blog consisting contain contained do does did emoji entire entirely completely
    explicitly following format have highlighted in include is it keywords language letters may
    must of phrase please points point post present put respond section should square summarize
    that the there this title to use used using very whole with words wrap wrapped write written
    you your also and are be but long allowed a
    can contains create everything formatting give has keep limit limited list marks me needs
    output provide return somewhere stay sure these yourself anywhere ask
    specific ensure formatted presented provided generate response paragraph
    additionally finally make mentioning organize reply throughout
    与 且 严格 严格控制 个 个关键词 中 为 之间 了 以 以下 任何 但 作为 作文 作答 你的 你的回答
    使用 保持 保证 信息 修改后的 倡议书 全文 公文 关键 关键字 关键词 内容 写 出现 出现了 分 加上
    加入 包含 包括 博客 博文 句 句子数量 句数 句话 同时 含 含有 呈现 和 回复 回复内容 回答
    回答内容 在 字 字数 字数数量 字母 字眼 字符 字符数 字符长度 存在 完整 将 将结果以 展现 展示 带
    并 并且 应 应在 应该 建议 形式 得 心得体会 必须 总 总字数 总长度 成语 报告 按照 控制 推荐信
    提交 撰写 改写后的 故事 散文 数据 整个 整体 整篇 文字 文本 文案 文档 文章 文章的 新闻稿 是
    是否 显示 有 来 来回答 构成 格式 正文 段 段数 润色后的 演讲稿 生成的 用 由 的 的形式 的格式
    短文 确保 符号 答案 篇幅 组成 结构 结果 给出 编写 自然 至 英文 英文字母 表情 表情符号 表示
    表达 要 要在 要求 要用 论文 词汇 词语 话 该 语 语言 请 软文 输出 输出信息 输出内容 输出文本
    输出格式 输出的 输出结果 输出语言 返回 返回内容 返回数据 返回结果 这 这个 进行 进行回答 邮件
    采用 长度 阐述 限制 限定 需 需严格 需在 需要 一共 能 全程 务必 回答语言 说明 须
    范围 限 即可 上下 起 处 次 首 概括 写成 必须是 总共 作 短诗 诗歌 部分 出 括起来 数量 分为 分为了
    内容为 里面 到 完成 论述 文末 必须含 上 成 里 放 大概 单词 话题 次数 介于 夹杂 占 单独 诗 一首
    标注 标签 分点 体裁 创作 请务必 任意 句中 中间 间 既 说 列举
    段落 则 总长 全篇 答复 句子 条 一条 词组 字样 可 书写 方式
    全 全诗 分成 列出 加 把 文中 来写 篇 创作的 必须要 描述 歌词 这首诗 通知
    """.split()  # noqa: SIM905
)

# Words that count, bound or select elsewhere, each with the checks that hold without them.
FILLERS_OF = {
    "characters": {"heedful:format"},
    # "word limit: 90 words"; what is quoted is a word or a phrase
    "word": {"heedful:count", "heedful:excludes", "heedful:contains", "heedful:ends_with"},
    # "in all capital letters", "words in all caps"
    "all": {"heedful:case", "heedful:language", "heedful:dates", "heedful:count"},
    "both": {
        "heedful:starts_with",
        "heedful:contains",
        "heedful:mentions",
    },  # it must be the number of those listed
    "single": {"heedful:json", "heedful:format", "heedful:count"},  # a sentence is one sentence
    "total": {"heedful:count"},  # what names no part is counted in total
    "letter": {"heedful:words_with"},  # what it quotes is one
    "other": {"heedful:json"},  # "no other keys than"
    "data": {"heedful:csv"},
    "for": {"heedful:contains", "heedful:count"},  # "for more than 5 times"
    "appear": {"heedful:contains"},
    "sentence": {"heedful:contains"},
    "parsable": {"heedful:json"},
    "mention": {"heedful:contains_any"},
    "each": {"heedful:contains"},
    "there's": {"heedful:count"},
    "max": {"heedful:count"},
    "explain": {"heedful:count"},
    "form": {"heedful:format"},
    "exclusively": {"heedful:language"},
    "no": {"heedful:count"},
    "object": {"heedful:json"},  # only an object has keys
    "keys": {"heedful:json"},  # "with keys only a and b"
    "line": {"heedful:contains"},  # "in the first line and “b” in the last"
    "iso": {"heedful:dates"},  # its form is written out
    "up": {"heedful:count"},  # "sum it up"
    "say": {"heedful:count"},
    "describe": {"heedful:count"},
    "just": {"heedful:format", "heedful:count"},
    "compose": {"heedful:count"},
    "an": {"heedful:json", "heedful:count"},
    "let": {"heedful:equals"},
    "things": {"heedful:starts_with"},  # "kick things off"
    "any": {
        "heedful:no_repetition",
        "heedful:each_word",
        "heedful:words_with",
        "heedful:count",
        "heedful:excludes",
        "heedful:case",
        "heedful:contains_any",
    },  # "do not use any commas"
    # The check asks for nothing else anyway, and one word is one word.
    "only": {
        "heedful:format",
        "heedful:case",
        "heedful:language",
        "heedful:json",
        "heedful:count",
        "heedful:equals",
    },
    "exactly": {
        "heedful:count",
        "heedful:json",
        "heedful:table",
        "heedful:equals",
        "heedful:csv",
    },  # of what is counted one by one, a bare number is exact
    "exact": {"heedful:ends_with", "heedful:contains"},  # what is quoted is asked for word for word
    "valid": {"heedful:json", "heedful:format"},
    "double": {"heedful:format", "heedful:wrapped"},  # only these are decided
    "about": {"heedful:count"},  # of words and characters, a bare number means about that many
    "either": {"heedful:equals", "heedful:starts_with", "heedful:excludes"},
    "or": {"heedful:equals"},
    "around": {"heedful:count"},
    "approximately": {"heedful:count"},
    "maximum": {"heedful:count"},  # after "limited to"
    "恰好": {"heedful:count"},
    "恰好包含": {"heedful:count"},
    "只写": {"heedful:count"},
    "markdown": {"heedful:table", "heedful:separated", "heedful:format", "heedful:count"},
    "divider": {"heedful:separated"},
    "约": {"heedful:count"},
    "大约": {"heedful:count"},
    "左右": {"heedful:count"},
    "只有": {"heedful:count"},
    "只能": {"heedful:count", "heedful:language"},
    "只能用": {"heedful:count"},
    "仅": {"heedful:json", "heedful:language", "heedful:count"},
    "都": {"heedful:case", "heedful:count", "heedful:contains"}
    | {"heedful:starts_with", "heedful:ends_with"},
    "只": {"heedful:json", "heedful:language", "heedful:count", "heedful:equals"},
    "共": {"heedful:count", "heedful:table"},
    "一句": {"heedful:contains", "heedful:count"},  # 最后一句
    "及": {"heedful:count", "heedful:excludes", "heedful:does_not_mention"},  # 五个及以上
    "列表": {"heedful:count"},  # items are a list's
    "到": {"heedful:excludes", "heedful:does_not_mention"},  # 提到
    "开头": {"heedful:contains", "heedful:starts_with"},  # 开头第一个词
    "第一个词": {"heedful:starts_with"},
    "或": {"heedful:excludes", "heedful:contains_any"},  # all that are listed, or any
    "至少": {"heedful:count", "heedful:contains_any"},
    "全部": {"heedful:language", "heedful:case"},
    "各": {"heedful:contains"},
    # 一共, 一百字, 最后一段, 这一关键词: the rest of the word says the same
    "一": {
        "heedful:question",
        "heedful:format",
        "heedful:count",
        "heedful:table",
        "heedful:equals",
        "heedful:contains",
        "heedful:classical_poem",
    }
    | {"heedful:excludes", "heedful:ends_with", "heedful:starts_with", "heedful:ends_with_emoji"},
    "一个": {
        "heedful:ends_with",
        "heedful:count",
        "heedful:ends_with_emoji",
        "heedful:table",
        "heedful:starts_with_kind",
        "heedful:format",
        "heedful:json",
    },
    "两": {"heedful:contains", "heedful:excludes"},  # it must be the number of those listed
    "三": {"heedful:contains", "heedful:excludes"},
    "最终": {"heedful:json", "heedful:format"},  # 最终输出
    "phrases": {"heedful:contains_any"},
    "one": {"heedful:contains_any"},
    "well-formed": {"heedful:format"},
    "合法": {"heedful:json", "heedful:format"},
    "from": {"heedful:count", "heedful:numbered"},
    "编号": {"heedful:starts_with_kind"},
    "藏头诗": {"heedful:acrostic"},
    "连起来": {"heedful:acrostic"},
    "tags": {"heedful:wrapped"},
    "called": {"heedful:json"},
    "length": {"heedful:count"},
    "at": {"heedful:count"},
    "小": {"heedful:count", "heedful:headed"},
    "第一句": {"heedful:starts_with"},
    "数字": {"heedful:format"},
    "均": {"heedful:excludes"},
    "只能为": {"heedful:count"},
    "至少一个": {"heedful:count"},
    "最后": {"heedful:count", "heedful:ends_with"},
    "中文": {"heedful:chinese_script"},
    "种": {"heedful:count"},
    "通篇": {"heedful:excludes"},
    "第一人称": {"heedful:excludes"},
    "结尾": {"heedful:ends_with"},  # where a name is signed
    "只用": {"heedful:count"},
    "只需": {"heedful:count", "heedful:equals"},
    "点": {"heedful:count"},
    "表": {"heedful:count"},
    "表格": {"heedful:table"},
    "做成": {"heedful:table"},
    "至少要": {"heedful:count"},
    "写够": {"heedful:count"},
    "只能有": {"heedful:count"},
    "共写": {"heedful:count"},
    "词": {"heedful:excludes"},
    "从": {"heedful:numbered"},
    "做": {"heedful:table"},
    "代码": {"heedful:format"},
    "lists": {"heedful:count"},
    "numbered": {"heedful:count"},
    "extra": {"heedful:json"},
    "always": {"heedful:language"},
    "every": {"heedful:starts_with"},  # every reply
    "answers": {"heedful:count"},
    "tweet": {"heedful:count"},
    "produce": {"heedful:count"},
    "it's": {"heedful:count"},
    # What a quoted phrase, a number or an address is says itself.
    "british": {"heedful:excludes"},
    "competitors": {"heedful:excludes"},
    "email": {"heedful:contains"},
    "address": {"heedful:contains"},
    "官网": {"heedful:contains"},
    "phone": {"heedful:mentions"},
    "数": {"heedful:count"},  # 段落数
    "标题": {"heedful:count"},  # 一级标题
    "字段": {"heedful:json"},
    "不要解释": {"heedful:format"},  # code or a number alone has none
    # of what is listed one by one: 三条建议
    **{
        noun: {"heedful:count"}
        for noun in ["理由", "原因", "方法", "措施", "优点", "缺点", "好处", "技巧", "注意事项"]
    },
    "选项": {"heedful:equals"},
    "选项字母": {"heedful:equals"},
    "使用了": {"heedful:count"},
    "否": {"heedful:format", "heedful:count"},  # 是否
    "项": {"heedful:bullet_sign"},
    "步骤": {"heedful:format"},
}

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
    [
        *(text for text, _ in COMPILES),
        *TEXTS,
        *LATER,
        *MORE,
        *(text for text, _, _ in [*KINDS, *WORDS, *CHINESE_LATER, *CHINESE_LAST]),
        *(text for text, _, _ in [*FRESH, *FRESH_ZH]),
    ],
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


WORDED = [
    *(text for text, _ in COMPILES),
    *TEXTS,
    *LATER,
    *MORE,
    *(text for text, _, _ in [*KINDS, *WORDS, *CHINESE_LATER, *CHINESE_LAST]),
    *(text for text, _, _ in [*FRESH[::3], *FRESH_ZH[::3]]),
]


@pytest.mark.slow
@pytest.mark.parametrize("text", random.Random(0).sample(WORDED, 250))  # each takes 70 ms of CPU
def test_a_word_that_means_something_changes_the_check(text: str) -> None:
    words = MEANINGFUL_ZH if _HAN.search(text) else MEANINGFUL
    assert not unchanged(text, random.Random(text).sample(words, 4))
