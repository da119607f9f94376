"""Constraints in plain Chinese as people write them, each with a response that meets it and one
that doesn't; otherwise as in ``plain_english``."""

from plain_responses import (
    ENGLISH,
    characters,
    chinese_bullets,
    chinese_numbered,
    chinese_paragraphs,
)

JSON = '{"name": "安", "age": 3}'
POEM_7 = "春风吹绿江南岸，\n细雨无声润柳条。\n燕子归来寻旧梦，\n桃花依旧笑今朝。"

TEXTS: list[tuple[str, str, str]] = [
    # 字数
    # 句
    ("最后一句必须是问句", "下雨了。你知道吗？", "你知道吗？下雨了。"),
    ("以问句结尾", "下雨了。你知道吗？", "你知道吗？下雨了。"),
    ("结尾要用问句", "下雨了。你知道吗？", "你知道吗？下雨了。"),
    # 段
    ("段落数不超过三个", chinese_paragraphs(2), chinese_paragraphs(5)),
    ("每段至少10个字", chinese_paragraphs(3), "下雨了。\n\n刮风了。"),
    ("第一段不超过50字", chinese_paragraphs(3), f"{characters(90)}\n\n下雨了。"),
    ("最后一段要出现“希望”", "下雨了。\n\n还有希望。", "还有希望。\n\n下雨了。"),
    # 列表
    ("列表每一项不超过20字", chinese_bullets(3), f"- {characters(40)}"),
    ("使用三点", chinese_numbered(3), chinese_numbered(5)),
    ("至少列出三点", chinese_numbered(4), chinese_numbered(2)),
    ("不要使用列表", chinese_paragraphs(1), chinese_bullets(3)),
    # 词语
    ("提到断桥", "我去过断桥。", "我去过西湖。"),
    ("必须提到“断桥”", "我去过断桥。", "我去过西湖。"),
    ("使用“断桥”至少两次", "断桥是断桥。", "我去过断桥。"),
    ("必须包含关键词：断桥、西湖", "断桥在西湖。", "我去过西湖。"),
    ("至少提到“断桥”或“西湖”中的一个", "我去过西湖。", "我去过北京。"),
    ("不能提及西湖", "我去过北京。", "我去过西湖。"),
    ("正文中不含“春”", "题目：雨\n\n下雨了。", "下雨了。春天到了。还很冷。"),
    # 标点、表情、数字
    ("不用标点", "下雨了", "下雨了。"),
    ("至少使用三个感叹号", "下雨了！刮风了！真冷！", "下雨了。"),
    ("不要出现英文字母", "下雨了。", "下rain了。"),
    # 开头、结尾
    ("请以“您好”二字开头", "您好，下雨了。", "下雨了。"),
    ("第一句话以“您好”开头", "您好，下雨了。", "下雨了。"),
    ("不要以“好的”开头", "下雨了。", "好的，下雨了。"),
    ("开头不要说“好的”", "下雨了。", "好的，下雨了。"),
    ("以“谢谢”结尾", "下雨了，谢谢", "谢谢，下雨了。"),
    ("结尾写上“谢谢”", "下雨了，谢谢", "谢谢，下雨了。"),
    ("回答只能是“是”或“否”", "是", "下雨了。"),
    # 语言、格式
    ("只用中文回答", "今天下雨了，我们都在家里看书。", ENGLISH),
    ("JSON中要有name和age两个字段", JSON, '{"name": 1}'),
    ("要有标题", "# 雨\n\n下雨了。", "下雨了，刮风了，我们都在家里看书喝茶听外面的风声。"),
    ("标题不超过10个字", "# 雨\n\n下雨了。", "# 今天下雨了我们都在家里看书喝茶\n\n下雨了。"),
    ("标题要加粗", "**雨**\n\n下雨了。", "雨\n\n下雨了。"),
    ("标题用书名号括起来", "《雨》\n\n下雨了。", "# 雨\n\n下雨了。"),
    ("至少包含一个链接", "见 https://example.com", "见网页。"),
    ("加三个话题标签", "下雨 #甲 #乙 #丙", "下雨 #甲"),
    ("全部用小写字母", "it rains in rome.", "It rains in Rome."),
    # 诗
    ("每行不超过10个字", POEM_7, characters(20)),
    # 两项
    ("三个要点，每个要点不超过20字", chinese_numbered(3), chinese_numbered(5)),
    ("全文不少于5个汉字", "今天下雨了。", "one two three four five six 今"),
    (
        "每段不少于5个汉字",
        "今天下雨了。\n\n今天下雨了。",
        "今天下雨了。\n\none two three four five 今",
    ),
    ("不分行", characters(60), "今天下雨了。\n我们在家看书。"),
]
