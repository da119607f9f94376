"""Constraints of kinds that the first lists lack: openings, order, numbering, words, signs.

Each with a response that meets it and one that doesn't, as in ``plain_english``.
"""

from __future__ import annotations

from plain_responses import numbered, paragraphs, sentences, words

ACROSTIC = "Rain falls\nOver the hills\nSlowly\nEach day"
POEM = "春风吹过小河边，\n夏日蝉鸣到窗前，\n秋叶飘落随流水，\n冬雪无声盖旧田。"
POEM_OTHER = "东风吹过小河边，\n夏日蝉鸣到窗前，\n秋叶飘落随流水，\n冬雪无声盖旧田。"
ITEMS = "\n".join(f"{n}. A long walk" for n in range(1, 8))
ITEMS_FROM_3 = "\n".join(f"{n}. A long walk" for n in range(3, 10))
BULLETS_7 = "\n".join("- A long walk" for _ in range(7))
PARTED = "The rain fell.\n\nThe wind rose."
UNPARTED = "The rain fell.\nThe wind rose."

TEXTS: list[tuple[str, str, str]] = [
    # Yes or no.
    ("Answer only yes or no.", "Yes", "Perhaps, it depends on many things."),
    ("Yes or no answer only.", "no", "It depends on the weather."),
    ("The answer must be yes or no.", "yes", "Maybe tomorrow."),
    ("Reply with either yes or no.", "No", "It depends on the weather."),
    ("Give a yes/no answer only.", "Yes", "Yes, because it rains."),
    ("Respond with yes or no.", "yes", "It depends on the weather."),
    ("只回答是或否", "是", "这要看天气怎么样"),
    ("回答只能是“对”或“错”", "对", "这要看天气怎么样"),
    # Formats.
    ("Output valid XML.", "<a><b>x</b></a>", "<a><b>x</a></b>"),
    ("Ensure the output is well-formed XML.", "<a/>", "No tags at all."),
    ("必须输出合法的XML", "<a><b>x</b></a>", "没有标签"),
    ("Return a JSON array of 5 strings.", '["a", "b", "c", "d", "e"]', '["a", "b", "c"]'),
    ("The output must be a JSON array with exactly 3 elements.", "[1, 2, 3]", "[1, 2]"),
    ("Return a JSON array with at least 2 objects.", '[{"a": 1}, {"b": 2}]', "[1, 2, 3]"),
    ("输出一个包含3个字符串的JSON数组", '["a", "b", "c"]', '["a", "b"]'),
    ("JSON only, no other text.", '{"a": 1}', "The rain."),
    ("仅输出JSON，不要其他内容", '{"a": 1}', "下雨了"),
    ("Respond with a number only.", "42", "The answer is surely forty-two."),
    ("The answer must be an integer.", "42", "The rain falls on the town."),
    ("Use a table.", "| a | b |\n|---|---|\n| 1 | 2 |", "No such thing here."),
    ("使用表格", "| a | b |\n|---|---|\n| 1 | 2 |", "这里没有"),
    ("Use H2 headings.", "## Rain\ntext\n\n## Wind\ntext", "Rain falls. Wind blows."),
    ("至少包含两个二级标题", "## 雨\n文字\n\n## 风\n文字", "下雨了。刮风了。"),
    ("Use at least one level-2 heading.", "## Rain\nIt falls.", "# Rain\nIt falls."),
    ("Use italics.", "It is *very* wet.", "It is wet."),
    # Signs and numbers.
    ("No numbers.", "The rain falls.", "The rain fell 12 times."),
    ("Do not use numbers.", "The rain falls.", "Take 3 steps."),
    ("不要使用数字", "雨下了很久。", "雨下了3天。"),
    ("文中不得出现数字", "雨下了很久。", "雨下了１２天。"),
    ("Must contain at least one number.", "It rained 12 times.", "It rained often."),
    ("Include a number.", "It rained 12 times.", "It rained often."),
    ("No hyphens.", "The rain falls.", "A well-known rain."),
    ("Avoid dashes.", "The rain falls.", "The rain — it falls."),
    ("No apostrophes.", "It is raining.", "It's raining."),
    ("Don't use contractions.", "It is raining.", "It's raining and we don't mind."),
    ("No asterisks.", "The rain falls.", "The *rain* falls."),
    ("Use exactly three different emojis.", "Rain 🌧 sun 🌞 wind 🌬", "Rain 🌧🌧🌧"),
    ("Use at least 3 different emojis.", "Rain 🌧 sun 🌞 wind 🌬", "Rain 🌧🌧🌧"),
    ("三个不同的emoji", "雨🌧晴🌞风🌬", "雨🌧🌧🌧"),
    ("感叹号不超过一个", "下雨了！", "下雨了！刮风了！"),
    ("emoji数量不超过2个", "下雨了🌧", "🌧🌞🌬"),
    ("No blank lines.", UNPARTED, PARTED),
    ("不能有空行", "下雨了。\n刮风了。", "下雨了。\n\n刮风了。"),
    ("No words in all caps.", "The rain falls.", "The RAIN falls."),
    # Words.
    ("Mention London and Paris.", "From London to Paris.", ""),
    ("要提到北京、上海和广州", "北京和上海都去过，还有广州。", ""),
    ("At least one of the words sun, moon, sky must appear.", "The moon rose.", "Rain fell."),
    ("Don't use the word rain more than twice.", "Rain and rain.", "Rain, rain, rain."),
    ("All of the following words must appear: sun, moon.", "Sun and moon.", "Only a moon."),
    ("The keywords sun, moon and sky must be included.", "Sun, moon, sky.", "Sun and moon."),
    ("Banned words: sun, moon.", "The rain falls.", "The moon rose."),
    ("The word rain has to be in the title.", "# The rain\nIt falls.", "# The wind\nIt blows."),
    ("包含“天”或“地”", "天亮了", "下雨了"),
    ("“春天”必须出现恰好两次", "春天来了，春天走了。", "春天来了。"),
    ("禁用词：非常、十分", "雨下了很久。", "雨下得非常久。"),
    ("Use no word longer than six letters.", "The rain falls.", "Thunderstorms came."),
    ("Every word must have at most 5 letters.", "The rain falls.", "Thunderstorms came."),
    ("Every word must start with the letter S.", "Sun sets slowly.", "Sun goes down."),
    ("Every word must start with a capital letter.", "The Rain Falls.", "The rain falls."),
    # Order.
    ("Mention Paris before London.", "From Paris to London.", "From London to Paris."),
    ('"rain" must appear before "wind".', "First rain, then wind.", "Wind and then rain."),
    ('Use "harbor" before "sea".', "The harbor and the sea.", "The sea and the harbor."),
    ("“雨”必须在“风”之前出现", "下雨，然后刮风。", "刮风，然后下雨。"),
    ('The words "a1", "b1" must appear in this order.', "a1 then b1", "b1 then a1"),
    # Beginnings.
    ("Every sentence must start with the letter S.", "Sun sets. Sky glows.", "Sun sets. It is."),
    ("Begin every paragraph with the letter T.", "To go.\n\nTo stay.", "To go.\n\nWe stay."),
    ("The first letter of the response must be T.", "To go is to stay.", "We go."),
    ("Begin with 'A'.", "A dog barks.", "The dog barks."),
    ("Each line should begin with 's'.", "s is one.\ns is two.", "a is one.\na is two."),
    ("Each line must start with a capital letter.", "Rain fell.\nWind rose.", "Rain.\nwind."),
    ("Each line should start with a number.", "1 apple\n2 pears", "apples\npears"),
    ("每段开头用数字编号", "1. 雨下了。\n\n2. 风停了。", "雨下了。\n\n风停了。"),
    ("Start each bullet with an emoji.", "- 🌧 Rain\n- 🌞 Sun", "- Rain\n- Sun"),
    ("The last word must be 'goodbye'.", "So I say goodbye.", "So I say hello."),
    ("End with the word 'amen'.", "So be it, amen.", "So be it."),
    ("最后一个词必须是“再见”", "朋友们，再见。", "朋友们，你好。"),
    ("The first word must be 'Hello'.", "Hello, friend.", "Dear friend."),
    ("首字为“春”", "春风又绿江南岸。", "又是江南。"),
    # Acrostics, numbering, what is between.
    ("The first letters of the lines must spell ROSE.", ACROSTIC, "Rain\nfalls\nslowly\ndown"),
    ("Write an acrostic of the word 'ROSE'.", ACROSTIC, "The rain falls slowly."),
    ("每句首字连起来是“春夏秋冬”", POEM, POEM_OTHER),
    ("藏头诗，每句首字连起来是“春夏秋冬”", POEM, POEM_OTHER),
    ("Exactly seven items, numbered 1 to 7.", ITEMS, ITEMS_FROM_3),
    ("List exactly seven items, numbered 1 to 7.", ITEMS, BULLETS_7),
    ("Number the items from 1 to 3.", numbered(3), BULLETS_7),
    ("Write 5 paragraphs numbered 1 to 5.", "", paragraphs(5)),
    ("Separate paragraphs with a blank line.", PARTED, UNPARTED),
    ("Exactly two paragraphs separated by a blank line.", PARTED, paragraphs(4)),
    ("段落之间用空行分隔", "下雨了。\n\n刮风了。", "下雨了。\n刮风了。"),
    ("Separate paragraphs with three asterisks.", "Rain.\n***\nWind.", PARTED),
    # Counts.
    ("One sentence only.", sentences(1), sentences(3)),
    ("No paragraph longer than 50 words.", paragraphs(2), words(90)),
    ("More than 20 words but fewer than 60.", words(40), words(90)),
    ("A bulleted list with 5 items.", "", numbered(3)),
    (
        "每句不超过15个字，共四句",
        "",
        "雨下了很久很久，一直没有停下来，我们都在家里等着天晴。风停了。",
    ),
    ("共三段", "雨下了。\n\n风停了。\n\n天晴了。", "雨下了。\n\n风停了。"),
    ("限三句", "雨下了。风停了。天晴了。", "雨下了。风停了。天晴了。人来了。"),
    ("写一首四行的诗", POEM, "下雨了。\n刮风了。"),
    # Signs, figures, names and headings.
    ("Include the number 42.", "There are 42 of them.", ""),
    ("包含数字“8”", "一共有8个。", ""),
    ("Include the year 1999.", "It was 1999 then.", "It was long ago."),
    ("Include the URL https://example.com.", "See https://example.com.", "See the page."),
    ("Use the name Alice.", "Alice slept.", "Bob slept."),
    ("Include the emoji 😀.", "Rain 😀", "Rain"),
    ("End with the emoji 😀.", "Rain 😀", "😀 Rain"),
    ("Do not use the ampersand.", "Rain and wind.", "Rain & wind."),
    ('Do not use the "@" symbol.', "Rain and wind.", "Mail a@b.org."),
    ("No underscores.", "Rain and wind.", "snake_case"),
    ("Include the hashtags #fun and #sun.", "Oh #fun and #sun!", "Oh #fun!"),
    ("Include the heading 'Summary'.", "## Summary\nIt rained.", "It rained."),
    ("Use the headings 'Pros' and 'Cons'.", "# Pros\na\n# Cons:\nb", "# Pros\na"),
    ('Title it "My Day".', "# My Day\nIt rained.", "# Our Night\nIt rained."),
    ("Append 'That is all.' to the end of your response.", "Rain. That is all.", "Rain."),
    ("No sentence may contain a comma.", "It rains. It snows.", "It rains. So, it snows."),
    ("No paragraph may contain the word 'rain'.", "It snows.\n\nIt hails.", "Rain.\n\nHail."),
    ("Each item must be a single word.", "- Rain\n- Wind", "- Heavy rain\n- Wind"),
    ("Don't use the same word twice.", "Rain fell.", "Rain and rain."),
    ("Avoid words with the letter 'z'.", "Rain fell.", "The zoo was wet."),
    ("Include at least one capital letter.", "Rain fell.", "rain fell."),
    ("Only use ASCII characters.", "Rain fell.", "Café rain."),
    ("Put each sentence on its own line.", "Rain fell.\nWind rose.", "Rain fell. Wind rose."),
    ("Respond on a single line.", "Rain fell.", "Rain fell.\nWind rose."),
]
"""Text, a response that meets it, one that doesn't; an empty one where none is beyond doubt."""
