"""Everyday constraints written before a look at the grammar; every second one was held out.

As people write them in system prompts, rubrics and checklists, each with a response that a person
calls met and one that a person calls unmet.
"""

from __future__ import annotations

from plain_responses import FRENCH, characters, sentences, words

ENGLISH = "The rain falls on the old town and people walk home because they want to stay dry."
CHINESE = "今天下雨了，大家都在家里看书，外面的风很大，天黑得很早。"
TABLE = "| Name | Age | City |\n|---|---|---|\n| Ann | 30 | Rome |\n| Bob | 41 | Oslo |"
TABLE_2 = "| Name | Age |\n|---|---|\n| Ann | 30 |"
CODE = "```python\nprint('rain')\n```"
RAIN = "Rain fell on the town."

EN: list[tuple[str, str, str]] = [
    ("Limit: 100 words", words(90), words(140)),
    ("Return only the JSON, without markdown code fences.", '{"a": 1}', '```json\n{"a": 1}\n```'),
    ("Do not wrap the output in a code block.", RAIN, CODE),
    ("ALL CAPS only.", "RAIN FELL ON THE TOWN.", RAIN),
    ("Put the title in bold.", "**Rain**\n\nRain fell on the town.", "Rain\n\nRain fell."),
    ("Include exactly 3 hashtags at the end.", "Rain fell. #rain #town #night", RAIN),
    ("Is the response shorter than 60 words?", words(40), words(80)),
    ("Is the answer written entirely in English?", ENGLISH, FRENCH),
    ("Is the output formatted as a table with three columns?", TABLE, TABLE_2),
    ("The response includes a table with at least 2 rows.", TABLE, RAIN),
    ("Structure the answer with H2 headings.", "## Rain\n\nIt fell.\n\n## Wind\n\nIt rose.", RAIN),
    ("Include a P.S. at the end.", "Rain fell.\n\nP.S. Bring an umbrella.", RAIN),
    ("Start each line with a dash.", "- Rain fell\n- Wind rose", "Rain fell\nWind rose"),
    ("Title under 60 characters.", "# Rain\n\nIt fell.", f"# {words(30)}\n\nIt fell."),
    ("The summary is no longer than 3 sentences.", sentences(2), ""),
    ("The first sentence must contain the word 'rain'.", RAIN, "It fell. Rain is cold."),
    ("Refrain from using contractions.", RAIN, "It didn't rain. I don't care."),
    ("Use the British spelling 'colour', not 'color'.", "A fine colour.", "A fine color."),
    ("Responses over 100 words are not acceptable.", words(60), words(150)),
    ("Ensure the output is valid XML.", "<a><b>Rain</b></a>", "It rained."),
    ("Return a list of three strings in JSON.", '["a", "b", "c"]', '["a", "b"]'),
    ("The JSON array should have 4 elements.", "[1, 2, 3, 4]", "[1, 2]"),
    ("Address the user as 'Captain'.", "Captain, it rained.", "It rained."),
]

ZH: list[tuple[str, str, str]] = [
    ("输出格式为JSON", '{"a": 1}', "今天下雨了。"),
    ("回答语言：法语", FRENCH, CHINESE),
    ("每句话后面加一个表情", "今天下雨了😀。", "今天下雨了。"),
    ("在文末添加三个话题标签", "今天下雨了。#雨 #风 #雪", "今天下雨了。"),
    ("句子不要超过20个字", "今天下雨了。", f"{characters(40)}"),
    ("回答中必须有至少一个问号", "下雨了吗？", "下雨了。"),
    ("不要提问", "今天下雨了。", "今天下雨了吗？"),
    ("使用“【】”标注标题", "【春雨】\n\n今天下雨了。", ""),
    ("包含小标题“背景”和“结论”", "## 背景\n\n雨\n\n## 结论\n\n晴", "今天下雨了。"),
]
