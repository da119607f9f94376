"""Constraints of kinds that the first lists lack: openings, order, numbering, words, signs.

Each with a response that meets it and one that doesn't, as in ``plain_english``.
"""

from plain_responses import characters, chinese_sentences, sentences, words

TABLE = "| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |"
WIDE = "| a | b | c | d |\n|---|---|---|---|\n| 1 | 2 | 3 | 4 |"
PARTED = "The rain fell.\n\nThe wind rose."
RAIN = "The rain fell on the town."
CODE = "```python\nprint('rain')\n```"
UNPARTED = "The rain fell.\nThe wind rose."

TEXTS: list[tuple[str, str, str]] = [
    # Order, dates, data, code alone, boxes.
    ("Sort the list alphabetically.", "- ant\n- bee\n- cow", "- bee\n- ant\n- cow"),
    ("The list must be in alphabetical order.", "1. The ant\n2. The bee", "1. Bee\n2. Ant"),
    ("列表按字母顺序排列", "- ant\n- bee", "- bee\n- ant"),
    ("No duplicate items in the list.", "- ant\n- bee", "- ant\n- bee\n- Ant"),
    ("列表不能有重复项", "- 雨\n- 雪", "- 雨\n- 雪\n- 雨"),
    ("Use the date format YYYY-MM-DD.", "It fell on 2024-05-31.", "It fell on May 31, 2024."),
    ("Dates should be in DD/MM/YYYY format.", "On 31/05/2024.", "On 05/31/2024."),
    ("日期格式为YYYY-MM-DD", "2024-05-31下雨了。", "2024年5月31日下雨了。"),
    ("Output valid YAML only.", "rain:\n  - Monday\n  - Tuesday", "It rained."),
    ("Return only the code, no explanation.", CODE, f"Here it is:\n{CODE}"),
    ("只输出代码，不要解释", CODE, f"代码如下：\n{CODE}"),
    ("The code must be in a python code block.", CODE, "print('rain')"),
    ("Answer with only the letter of the correct option.", "B", f"{RAIN} So it must be B."),
    ("Put the final answer in \\boxed{}.", "So it is $\\boxed{42}$.", "So it is 42."),
    ("最终答案放在\\boxed{}中", "\\boxed{42}", "42"),
    ("Wrap your answer in <answer> tags.", "<answer>Rain</answer>", "Rain"),
    # Lists, sections and ends.
    ("If you use a list, number the items.", RAIN, "- ant\n- bee"),
    ("If there is a list, it should have no more than 2 items.", "- a\n- b", "- a\n- b\n- c"),
    ("如果使用列表，不超过2项", "1. 雨\n2. 雪", "1. 雨\n2. 雪\n3. 风"),
    ("如有表格，不超过3列", "下雨了", WIDE),
    ("Use numbered steps, not bullets.", "1. ant\n2. bee", RAIN),
    ("Give exactly 3 tips.", "1. a\n2. b\n3. c", "1. a\n2. b\n3. c\n4. d"),
    ("Have sections titled Rain and Wind.", "## Rain\n\nA.\n\n## Wind\n\nB.", "## Rain\n\nA."),
    ("分为“雨”和“风”两部分", "## 雨\n\n大。\n\n## 风\n\n小。", "## 雨\n\n大。"),
    ("Keep the summary under 60 words.", words(40), ""),
    ("Do not include any text outside the JSON.", '{"a": 1}', 'Here: {"a": 1}'),
    ("Use ordered lists for the steps.", "1. a\n2. b", RAIN),
    ("Provide the code in a single code block.", CODE, f"{CODE}\n\n{CODE}"),
    ("结尾要有一句“祝您愉快”", "下雨了。祝您愉快", "下雨了。"),
    ("不要在结尾提问", "下雨了。", "下雨了吗？"),
    ("Begin with a TL;DR.", "TL;DR: it rained.\n\nIt rained all day.", RAIN),
    ("One emoji at the end.", "It rained. 🌧️", RAIN),
    ("Plain text only, no formatting.", RAIN, "**Rain** fell."),
    ("数字用汉字表示", "下了三天雨", "下了3天雨"),
    # Yes or no.
    ("Give a yes/no answer only.", "Yes", "Yes, because it rains."),
    # Formats.
    ("The output must be a JSON array with exactly 3 elements.", "[1, 2, 3]", "[1, 2]"),
    ("Return a JSON array with at least 2 objects.", '[{"a": 1}, {"b": 2}]', "[1, 2, 3]"),
    ("输出一个包含3个字符串的JSON数组", '["a", "b", "c"]', '["a", "b"]'),
    ("JSON only, no other text.", '{"a": 1}', "The rain."),
    ("仅输出JSON，不要其他内容", '{"a": 1}', "下雨了"),
    ("使用表格", "| a | b |\n|---|---|\n| 1 | 2 |", "这里没有"),
    ("Use at least one level-2 heading.", "## Rain\nIt falls.", "# Rain\nIt falls."),
    # Signs and numbers.
    ("Use exactly three different emojis.", "Rain 🌧 sun 🌞 wind 🌬", "Rain 🌧🌧🌧"),
    # Words.
    ("Don't use the word rain more than twice.", "Rain and rain.", "Rain, rain, rain."),
    ("All of the following words must appear: sun, moon.", "Sun and moon.", "Only a moon."),
    ("The keywords sun, moon and sky must be included.", "Sun, moon, sky.", "Sun and moon."),
    ("Banned words: sun, moon.", "The rain falls.", "The moon rose."),
    ("The word rain has to be in the title.", "# The rain\nIt falls.", "# The wind\nIt blows."),
    ("“春天”必须出现恰好两次", "春天来了，春天走了。", "春天来了。"),
    ("禁用词：非常、十分", "雨下了很久。", "雨下得非常久。"),
    ("Every word must start with a capital letter.", "The Rain Falls.", "The rain falls."),
    # Order.
    # Beginnings.
    ("End with the word 'amen'.", "So be it, amen.", "So be it."),
    # Acrostics, numbering, what is between.
    ("Separate paragraphs with a blank line.", PARTED, UNPARTED),
    ("Separate paragraphs with three asterisks.", "Rain.\n***\nWind.", PARTED),
    # Counts.
    ("One sentence only.", sentences(1), sentences(3)),
    ("More than 20 words but fewer than 60.", words(40), words(90)),
    # Signs, figures, names and headings.
    ("包含数字“8”", "一共有8个。", ""),
    ("Use the name Alice.", "Alice slept.", "Bob slept."),
    ("Include the emoji 😀.", "Rain 😀", "Rain"),
    ("End with the emoji 😀.", "Rain 😀", "😀 Rain"),
    ("Do not use the ampersand.", "Rain and wind.", "Rain & wind."),
    ('Do not use the "@" symbol.', "Rain and wind.", "Mail a@b.org."),
    ("No underscores.", "Rain and wind.", "snake_case"),
    ("Include the heading 'Summary'.", "## Summary\nIt rained.", "It rained."),
    ('Title it "My Day".', "# My Day\nIt rained.", "# Our Night\nIt rained."),
    ("Append 'That is all.' to the end of your response.", "Rain. That is all.", "Rain."),
    ("No sentence may contain a comma.", "It rains. It snows.", "It rains. So, it snows."),
    ("No paragraph may contain the word 'rain'.", "It snows.\n\nIt hails.", "Rain.\n\nHail."),
    ("Each item must be a single word.", "- Rain\n- Wind", "- Heavy rain\n- Wind"),
    ("Avoid words with the letter 'z'.", "Rain fell.", "The zoo was wet."),
    ("Put each sentence on its own line.", "Rain fell.\nWind rose.", "Rain fell. Wind rose."),
    # Purposes and vague words beside a count.
    ("简洁明了，不超过60字，确保内容易懂", characters(40), characters(90)),
    # Levels of headings, tables if there are any, every word.
    (
        "Use at least two heading levels to structure the report.",
        "# A\n\nB.\n\n## C\n\nD.",
        "A. B.",
    ),
    ("If a table is used, it must not exceed 3 columns.", "It fell.", WIDE),
    ("Any table included must have no more than 3 columns.", TABLE, WIDE),
    (
        "The response must use capitalized letters for each word.",
        "The Rain Fell.",
        "The rain fell.",
    ),
    ("Ensure the ending punctuation is a period.", "It fell.", "It fell!"),
    ("The summary must include the keyword 'rain'.", "", "It fell."),
    # As people write offhand.
    ("no headers", "It fell.", "# A\n\nIt fell."),
    ("Answer only with a number.", "42", "It rained for all of forty-two days, as we know."),
    ("Bold at least 3 key words.", "**a** b **c** d **e**", "a **b** c"),
    ("Use neither bullets nor headings.", "It fell.", "- a\n- b"),
    ("做成表格，三列", TABLE, WIDE),
    ("至少用两次“然而”", "然而，然而。", "然而。"),
    ("谢谢，三句话就行", chinese_sentences(3), chinese_sentences(5)),
    # Chinese constraints on texts in other languages.
    ("Liebe是否出现2次", "Liebe ist Liebe.", "Liebe."),
    ("'der'字的使用是否不超过1次", "der Hund", "der Hund, der Ball"),
    # As people type them into a chat.
    ("50-word limit", words(40), words(90)),
    ("a 60-word minimum", words(90), words(40)),
    ("as 60 words", words(60), words(90)),
    ("Do not use parentheses", RAIN, "Rain (heavy) fell."),
    ("Include the year 2024", "In 2024 it rained.", RAIN),
    ("include the url https://a.org/b", "See https://a.org/b for it.", "See https://a.org."),
    ("Begin with Dear Sir", "Dear Sir,\n\nIt rained.", "It rained."),
    ("End with Best regards", "It rained.\n\nBest regards", "It rained."),
    ("start with a question", "Did it rain? It did.", "It rained. Did it?"),
    ("no follow-up questions", RAIN, ""),
    ("spell out numbers", "It rained for two days.", "It rained for 2 days."),
    ("Each line has 5 words", "The rain fell all day\nThe wind rose at night", "Rain fell"),
    ("Title in all caps", "# THE RAIN\n\nIt fell.", "# The rain\n\nIt fell."),
    ("wrap the code in a code block", "```\na = 1\n```", "a = 1"),
    ("a numbered list", "1. Rain\n2. Wind", RAIN),
    ("250 words give or take", words(250), words(90)),
    ("10 items max", "- Rain\n- Wind", "\n".join(f"- {at}" for at in range(14))),
    ("Emojis allowed: max 2", "Rain 😀", "Rain 😀😀😀"),
    ("single word only", "Rain", RAIN),
    ("Answer: yes/no", "Yes", RAIN),
    ("use the hashtag #rain", "It fell. #rain", "It fell. #wind"),
    ("Don't number the items", "- Rain\n- Wind", "1. Rain\n2. Wind"),
    ("Bold the keywords", "", RAIN),
    ("不要分段", "下雨了。天黑了。", "下雨了。\n\n天黑了。"),
    ("结尾署名“王老师”", "下雨了。\n\n王老师", "下雨了。"),
    ("最后以感叹号结束", "下雨了！", "下雨了。"),
    ("一个三行四列的表格", f"{WIDE}\n| 1 | 2 | 3 | 4 |\n| 1 | 2 | 3 | 4 |", TABLE),
    ("选A、B、C、D中的一个", "B", "下雨了"),
    # Parts that only a reader finds: no more is known than of the whole.
    ("Each slide must contain at most 50 words", words(40), ""),
    ("each translation must include the keyword 'rain'", "", "It fell."),
    ("The answer must use a level 2 heading for each topic", "", RAIN),
    ("每个摘要是否都不少于100字", "", characters(40)),
    ("【el】的使用是否不超过1次", "el sol", "el sol, el mar y el aire"),
    # Tables and headings of a shape.
    ("It must include a level 2 heading titled 'Rain'", "## Rain\nIt fell.", "# Rain\nIt fell."),
    ("Use heading levels to organize the report", "# A\n\n## B\n\nC.", RAIN),
    ("at least two heading levels, one for topics and one for details", "# A\n\n## B", "# A"),
    ("ensuring conciseness by not exceeding 60 words", words(40), words(90)),
    ("include the keyword 'rain' as part of the response", RAIN, "It fell."),
    # Said twice, said last, said with a verb of its own.
    ("Exactly 10 words. Not more, not less.", words(10), words(11)),
    ("Use bold for at least two key terms", "**Rain** and **sea**.", "**Rain** and sea."),
    ("No uppercase letters at all, please", "rain fell.", RAIN),
    ("附上链接 https://example.com", "见 https://example.com", "见网站。"),
    ("至少有两处加粗", "**米**和**豆**。", "**米**和豆。"),
    ("Don't start sentences with 'We'", "It fell. Rain came.", "It fell. We ran."),
]
