"""More constraints in plain Chinese, written after a widening of the grammar and before the next.

Each with a response that meets it and one that doesn't; empty where code can't decide that one.
"""

from __future__ import annotations

from plain_responses import (
    characters,
    chinese_bullets,
    chinese_numbered,
    chinese_paragraphs,
    chinese_sentences,
)

JUE_5 = "春眠不觉晓，\n处处闻啼鸟。\n夜来风雨声，\n花落知多少。"
JUE_7 = "春风吹绿江南岸，\n细雨无声润柳条。\n燕子归来寻旧梦，\n桃花依旧笑今朝。"
LV_5 = f"{JUE_5}\n{JUE_5}"
TABLE_3 = "| 名称 | 价格 | 库存 |\n|---|---|---|\n| 茶 | 3 | 5 |\n| 米 | 2 | 9 |"
TABLE_2 = "| 名称 | 价格 |\n|---|---|\n| 茶 | 3 |"
JSON_2 = '{"name": "安", "age": 3}'
JSON_1 = '{"name": "安"}'
CSV = "name,age\n安,3\n李,5"
YAML = "name: 安\nage: 3"
CODE = "```python\nprint(1)\n```"
ENGLISH = "The rain falls on the town and the people go home because they want to stay dry tonight."
RAIN = "今天下雨了，我们都在家里看书。"
LINES_3 = "今天下雨了。\n我们在家看书。\n外面风很大。"
TRADITIONAL = "今天下雨了，我們在家裡讀書，風聲很響，聽說明天會放晴。"
SIMPLIFIED = "今天下雨了，我们在家里读书，风声很响，听说明天会放晴。"

TEXTS: list[tuple[str, str, str]] = [
    # 提到、包含
    ("“爱”字不超过5次", "他爱她。", "爱，爱，爱，爱，爱，爱，爱。"),
    ("“春天”这个词最多用两次", "春天来了。", "春天，春天，春天。"),
    ("“的”字不能超过三个", "我的书。", "的，的，的，的，的。"),
    ("把“环保”这个词用上三遍", "环保，环保，环保。", "环保很好。"),
    ("关键词“绿色”出现2至4次", "绿色，绿色，绿色。", "绿色的树。"),
    ("同时包含“希望”和“梦想”", "希望和梦想。", "希望来了。"),
    ("包含下列任意一个词：“晴”“阴”", "今天晴。", "下雨了。"),
    ("“苹果”和“香蕉”至少出现一个", "我吃苹果。", "我吃葡萄。"),
    ("第一段中要提到“北京”", "北京下雨。\n\n天黑了。", "天黑了。\n\n北京下雨。"),
    ("每段都要出现“雨”字", "有雨。\n\n雨停。", "有雨。\n\n天晴。"),
    ("每一句都包含“我”", "我来了。我走了。", "我来了。他走了。"),
    # 不要
    ("不要带引号", "他说好。", "他说“好”。"),
    ("不使用括号", "下雨了。", "下雨了（很大）。"),
    ("句中不得有逗号", "下雨了。", "下雨了，真冷。"),
    ("不要用加粗", "下雨了。", "**下雨了**。"),
    ("不要使用表格", "下雨了。", TABLE_3),
    ("不要有小标题", "下雨了。", "## 雨\n\n下雨了。\n\n## 风\n\n刮风了。"),
    ("不要加标题", "", "# 雨\n\n下雨了。"),
    ("不要代码块", "下雨了。", CODE),
    ("不得使用第一人称“我”", "天冷。", "我冷。"),
    ("通篇不出现“我”字", "天冷。", "我冷。"),
    ("全文不换行", RAIN, "下雨了。\n刮风了。"),
    ("既不要表情也不要话题标签", "天冷。", "天冷🎉"),
    ("不要使用破折号、省略号", "天冷。", "天冷——"),
    # 字数
    ("字数200字左右", characters(200), characters(100)),
    ("字数：100-200字", characters(150), characters(60)),
    ("请将字数限制在60字以内", characters(40), characters(100)),
    ("写一段150字左右的文字", characters(150), characters(60)),
    ("英文单词数不超过20", ENGLISH, f"{ENGLISH} {ENGLISH}"),
    ("控制在50个字符以内", characters(30), characters(80)),
    ("标题为四个字", "# 雨夜归人\n\n下雨了。", "# 雨\n\n下雨了。"),
    # 句
    ("每句话至少5个字", chinese_sentences(3), "下雨。刮风。"),
    ("一句话即可", chinese_sentences(1), chinese_sentences(3)),
    ("限一句话", chinese_sentences(1), chinese_sentences(3)),
    ("句子数量不少于4", chinese_sentences(5), chinese_sentences(2)),
    ("以问句开头", "你知道吗？下雨了。", "下雨了。你知道吗？"),
    ("全部使用问句", "下雨了吗？冷吗？", "下雨了吗？很冷。"),
    ("每句都以“雨”字开头", "雨来了。雨走了。", "雨来了。风走了。"),
    # 行
    ("每句一行", LINES_3, "今天下雨了。我们在家看书。\n外面风很大。"),
    ("每行一句话", LINES_3, "今天下雨了。我们在家看书。\n外面风很大。"),
    ("每行结尾用逗号", "下雨了，\n刮风了，", "下雨了。\n刮风了。"),
    ("单行输出", RAIN, "下雨了。\n刮风了。"),
    ("写在一行里", RAIN, "下雨了。\n刮风了。"),
    ("第二行必须是“你好”", "早\n你好\n再见", "早\n再见\n你好"),
    # 段
    ("单段", chinese_paragraphs(1), chinese_paragraphs(3)),
    ("只用一个段落", chinese_paragraphs(1), chinese_paragraphs(3)),
    ("每段以句号结尾", "下雨了。\n\n刮风了。", "下雨了。\n\n刮风了！"),
    ("各段之间空一行", "下雨了。\n\n刮风了。", "下雨了。\n刮风了。"),
    ("末段以“谢谢”结尾", "下雨了。\n\n天晴，谢谢", "谢谢\n\n下雨了。"),
    # 条、点、列表
    ("给出5条建议", chinese_numbered(5), chinese_numbered(3)),
    ("不超过5条", chinese_numbered(4), chinese_numbered(6)),
    ("要点不超过5个", chinese_numbered(4), chinese_numbered(6)),
    ("用数字编号列出", chinese_numbered(3), chinese_paragraphs(1)),
    ("请分条列出", chinese_numbered(3), chinese_paragraphs(1)),
    ("列表项不超过10字", chinese_bullets(3), f"- {characters(40)}"),
    ("每条结尾不加句号", "- 下雨了\n- 刮风了", "- 下雨了。\n- 刮风了。"),
    ("每条都以分号结尾", "- 下雨了；\n- 刮风了；", "- 下雨了。\n- 刮风了。"),
    ("用markdown列表", chinese_bullets(3), chinese_paragraphs(1)),
    ("用无序列表列出三点", chinese_bullets(3), chinese_bullets(5)),
    # 开头、结尾
    ("最后一个字是“雨”", "今天下了雨", "雨下了一天"),
    ("以省略号结束", "下雨了……", "下雨了。"),
    ("句末不要句号", "下雨了", "下雨了。"),
    ("结尾不要加句号", "下雨了", "下雨了。"),
    ("不要以问句结尾", "下雨了。", "下雨了吗？"),
    ("不要用“总之”结尾", "下雨了。", "下雨了，总之"),
    ("以一个表情结尾", "下雨了🎉", "🎉下雨了"),
    # 标题、加粗、引用
    ("标题用一级标题", "# 雨\n\n下雨了。", ""),
    ("至少加粗两处", "**下雨**了，**刮风**了。", "下雨了。"),
    ("有加粗的内容", "**下雨**了。**刮风**了。", "下雨了。"),
    ("整段放在引号里", "“下雨了”", "下雨了"),
    # 表格、JSON、其他格式
    ("以JSON返回，字段包括name和age", JSON_2, JSON_1),
    ("输出json，只包含name和age两个字段", JSON_2, '{"name": 1, "age": 2, "sex": 3}'),
    ("JSON数组中有三个元素", "[1, 2, 3]", "[1, 2]"),
    ("三列的表格", TABLE_3, TABLE_2),
    ("表格包含三列：名称、价格、库存", TABLE_3, TABLE_2),
    ("表格两行三列", TABLE_3, TABLE_2),
    ("用Markdown表格输出", TABLE_3, "下雨了。"),
    ("表头为名称、价格、库存", TABLE_3, TABLE_2),
    ("表格至少3行", "", TABLE_2),
    ("用XML返回", "<a><b>x</b></a>", "下雨了。"),
    ("用代码块包裹", CODE, "下雨了。"),
    ("返回纯文本", "下雨了。", "# 雨\n\n**下雨**了。"),
    ("不要markdown，纯文本即可", "下雨了。", "# 雨\n\n**下雨**了。"),
    ("只需回答是或不是", "是", "这要看天气怎么样。"),
    ("结果用方括号括起来", "[42]", "42"),
    # 语言
    ("用日语写", "今日は雨が降りました。家で本を読みました。", RAIN),
    ("英文全部大写", "IT RAINS IN ROME.", "It rains in Rome."),
    # 诗
    ("写一首五言绝句", "", JUE_7),
    ("作一首七言律诗", "", JUE_7),
    ("每行五个字，共四行", JUE_5, JUE_7),
    ("每句五言，共八句", LV_5, JUE_5),
    ("四行诗", JUE_7, "下雨了。\n刮风了。"),
    # 表情、标签、标点
    ("每段至少一个emoji", "下雨🎉\n\n刮风🎉", "下雨🎉\n\n刮风"),
    ("只使用一个感叹号", "下雨了！真冷。", "下雨了！真冷！"),
    ("至少使用一次破折号", "", "下雨了。"),
    # 两项
    ("列出3条，每条不超过20字", chinese_numbered(3), chinese_numbered(5)),
    ("不分点，一段话", chinese_paragraphs(1), chinese_numbered(3)),
]
