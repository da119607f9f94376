"""Constraints of kinds that the first lists lack: openings, order, numbering, words, signs.

Each with a response that meets it and one that doesn't, as in ``plain_english``.
"""

from plain_responses import characters, chinese_sentences, sentences, words

TABLE = "| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |"
WIDE = "| a | b | c | d |\n|---|---|---|---|\n| 1 | 2 | 3 | 4 |"
PARTED = "The rain fell.\n\nThe wind rose."
UNPARTED = "The rain fell.\nThe wind rose."

TEXTS: list[tuple[str, str, str]] = [
    # Yes or no.
    ("Give a yes/no answer only.", "Yes", "Yes, because it rains."),
    ("只回答是或否", "是", "这要看天气怎么样"),
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
    ("三个不同的emoji", "雨🌧晴🌞风🌬", "雨🌧🌧🌧"),
    ("No words in all caps.", "The rain falls.", "The RAIN falls."),
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
    ("Use at most 60 words to ensure brevity.", words(40), words(90)),
    ("The answer should be concise, with a maximum of 60 words.", words(40), words(90)),
    ("For clarity, use at most 60 words, ensuring it is easy to read.", words(40), words(90)),
    ("简洁明了，不超过60字，确保内容易懂", characters(40), characters(90)),
    # Levels of headings, tables if there are any, every word.
    (
        "Use at least two heading levels to structure the report.",
        "# A\n\nB.\n\n## C\n\nD.",
        "A. B.",
    ),
    ("The answer must include a level 2 heading in Markdown format.", "## A\n\nB.", "# A\n\nB."),
    ("If a table is used, it must not exceed 3 columns.", "It fell.", WIDE),
    ("Any table included must have no more than 3 columns.", TABLE, WIDE),
    ("Present it in a table format with a maximum of 3 columns.", TABLE, WIDE),
    (
        "The response must use capitalized letters for each word.",
        "The Rain Fell.",
        "The rain fell.",
    ),
    ("Ensure the ending punctuation is a period.", "It fell.", "It fell!"),
    ("The summary must include the keyword 'rain'.", "", "It fell."),
    # As people write offhand.
    ("pls keep it under 60 wrods, ok?", words(40), words(90)),
    ("It shoud have exactly 3 sentances", sentences(3), sentences(5)),
    ("Keep ur answer short (max 60 words), thx", words(40), words(90)),
    ("max 90 chars", words(10), words(60)),
    ("no headers", "It fell.", "# A\n\nIt fell."),
    ("Answer only with a number.", "42", "It rained for all of forty-two days, as we know."),
    ("Bold at least 3 key words.", "**a** b **c** d **e**", "a **b** c"),
    ("Use neither bullets nor headings.", "It fell.", "- a\n- b"),
    ("60字上下哈", characters(60), characters(90)),
    ("不要低于60字", characters(90), characters(40)),
    ("做成表格，三列", TABLE, WIDE),
    ("至少用两次“然而”", "然而，然而。", "然而。"),
    ("谢谢，三句话就行", chinese_sentences(3), chinese_sentences(5)),
    # Chinese constraints on texts in other languages.
    ("Liebe是否出现2次", "Liebe ist Liebe.", "Liebe."),
    ('是否不存在关键词""internet", "vida""', "Es la casa.", "La vida es corta."),
    ("'der'字的使用是否不超过1次", "der Hund", "der Hund, der Ball"),
]
"""Text, a response that meets it, one that doesn't; an empty one where none is beyond doubt."""
