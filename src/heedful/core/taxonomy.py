"""CFBench's constraint taxonomy: ten types and their subtypes, in English and Chinese.

Source: CFBench (arXiv 2408.01122), section 3, and the names in its released data. Names that are
not in the taxonomy are kept as they are, so data with types of its own passes through unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ConstraintType:
    """A type or subtype: heedful's key, such as ``numerical/word``, and its names."""

    key: str
    en: str
    zh: str  # as written in CFBench's data


TYPES: tuple[ConstraintType, ...] = (
    ConstraintType("content", "Content", "内容约束"),
    ConstraintType("numerical", "Numerical", "数值约束"),
    ConstraintType("stylistic", "Stylistic", "风格约束"),
    ConstraintType("format", "Format", "格式约束"),
    ConstraintType("linguistic", "Linguistic", "语言约束"),
    ConstraintType("situation", "Situation", "场景约束"),
    ConstraintType("example", "Example", "example约束"),
    ConstraintType("inverse", "Inverse", "否定约束"),
    ConstraintType("contradictory", "Contradictory", "不合理约束"),
    ConstraintType("rule", "Rule", "指定动作约束/其他专业约束"),
)
"""The ten types, in the paper's order."""

SUBTYPES: tuple[ConstraintType, ...] = (
    ConstraintType("content/lexical", "Lexical content", "词法内容约束"),
    ConstraintType("content/element", "Element content", "元素内容约束"),
    ConstraintType("content/semantic", "Semantic content", "语义内容约束"),
    ConstraintType("content/other", "Other content", "其他内容约束"),
    ConstraintType("numerical/word", "Word count", "单词数值约束"),
    ConstraintType("numerical/sentence", "Sentence count", "句子数值约束"),
    ConstraintType("numerical/paragraph", "Paragraph count", "段落数值约束"),
    ConstraintType("numerical/document", "Document count", "文档数值约束"),
    ConstraintType("numerical/other", "Other numerical", "其他数值约束"),
    ConstraintType("stylistic/tone", "Tone", "语气情感约束"),
    ConstraintType("stylistic/form", "Form", "形式文体约束"),
    ConstraintType("stylistic/audience", "Audience", "受众风格约束"),
    ConstraintType("stylistic/authorial", "Authorial style", "作者文风约束"),
    ConstraintType("stylistic/other", "Other stylistic", "其他风格约束"),
    ConstraintType("format/fundamental", "Fundamental format", "基础格式约束"),
    ConstraintType("format/bespoke", "Bespoke format", "自定义格式约束"),
    ConstraintType("format/specialised", "Specialised format", "特殊场景格式约束"),
    ConstraintType("format/other", "Other format", "其他格式约束"),
    ConstraintType("linguistic/pragmatic", "Pragmatic", "语用语言约束"),
    ConstraintType("linguistic/syntactic", "Syntactic", "句法学语言约束"),
    ConstraintType("linguistic/morphological", "Morphological", "形态学语言约束"),
    ConstraintType("linguistic/phonological", "Phonological", "音节学语言约束"),
    ConstraintType("linguistic/other", "Other linguistic", "其他语言约束"),
    ConstraintType("situation/role", "Role", "角色场景约束"),
    ConstraintType("situation/task", "Task", "任务场景约束"),
    ConstraintType("situation/complex", "Complex context", "复杂情境推理"),
    ConstraintType("example", "Example", "example约束"),
    ConstraintType("inverse", "Inverse", "否定约束"),
    ConstraintType("contradictory", "Contradictory", "不合理约束"),
    ConstraintType("rule/action", "Prescribed action", "指定动作约束"),
    ConstraintType("rule/other", "Other rule", "其他专业约束"),
)
"""The subtypes. Example, inverse and contradictory have none of their own and repeat the type."""

# English names of subtypes are left out: "Task" or "Role" in data of its own means something else.
# Types come last, so that a type's name wins over its namesake subtype.
_BY_NAME = {
    **{name.casefold(): kind for kind in SUBTYPES for name in (kind.key, kind.zh)},
    **{name.casefold(): kind for kind in TYPES for name in (kind.key, kind.en, kind.zh)},
}


def canonical(word: str | None) -> str | None:
    """Turn a key or a name as data has it into the key; keep an unknown word as it is.

    >>> canonical("数值约束"), canonical("Numerical"), canonical("动作约束"), canonical("")
    ('numerical', 'numerical', '动作约束', None)
    """
    if not word or not word.strip():
        return None
    kind = _BY_NAME.get(word.strip().casefold())
    return kind.key if kind else word


def names(key: str) -> ConstraintType | None:
    """Return the kind behind a key or name, or ``None`` where the taxonomy has none."""
    return _BY_NAME.get(key.strip().casefold())


def name(key: str | None, language: str) -> str:
    """Return the name of a key in ``en`` or ``zh``; an unknown key is its own name.

    >>> name("numerical/word", "zh"), name("动作约束", "zh"), name(None, "zh")
    ('单词数值约束', '动作约束', '')
    """
    if not key:
        return ""
    kind = names(key)
    if kind is None:
        return key
    return kind.zh if language == "zh" else kind.en
