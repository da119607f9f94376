"""Constraints in everyday English, each with a response that meets it and one that doesn't.

A response is empty where none is beyond doubt.
"""

from plain_responses import bullets, numbered, paragraphs, sentences, words

SPANISH = (
    "La lluvia cae sobre la ciudad y la gente vuelve a casa porque no quiere mojarse esta noche."
)
FRENCH = (
    "La pluie tombe sur la ville et les gens rentrent chez eux parce qu'ils ne veulent pas sortir."
)
GERMAN = (
    "Der Regen fällt auf die Stadt und die Leute gehen nach "
    "Hause, weil sie heute Abend nicht nass werden wollen."
)
TABLE = "| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |\n| 4 | 5 | 6 |"
SMALL_TABLE = "| a | b |\n|---|---|\n| 1 | 2 |"
TWO_KEYS = '{"a": 1, "b": 2}'
LINES = "Rain fell.\nWind rose.\nSnow came."
LONG_LINES = (
    "Rain fell on the old town all night long.\nWind rose over the dark hills of the north."
)

TEXTS: list[tuple[str, str, str]] = [
    (
        'The first word should be "Never" and the last word should be "again".',
        "Never will it rain again",
        "It will rain again",
    ),
    ("Use the word 'the' more than 3 times.", "the cat the dog the cow the owl", "the cat ran"),
    ("Say 'rain' no more than once.", "The rain fell.", "Rain, rain, rain."),
    (
        'The word "rain" should occur fewer than 3 times.',
        "The rain fell.",
        "Rain, rain, rain, rain.",
    ),
    (
        "Include the word 'harbor' between 2 and 4 times.",
        "A harbor, a harbor, a harbor.",
        "A harbor.",
    ),
    ('Make sure "harbor" shows up three or more times.', "Harbor, harbor, harbor.", "A harbor."),
    ("The word 'and' can appear at most 5 times.", "You and I.", "and and and and and and and"),
    ("Use the word sky twice.", "The sky is the sky.", "The sea is wide."),
    ('Don\'t say "sorry" more than once.', "Sorry for it.", "Sorry, sorry, sorry."),
    ('The letter "q" should appear at least twice.', "A quick quiz.", "No such thing."),
    ('The word "good" may appear only once.', "A good day.", "Good, good, good."),
    (
        'The word "good" cannot appear more than 3 times.',
        "A good day.",
        "Good, good, good, good, good.",
    ),
    ('Have the word "blue" appear exactly three times.', "Blue, blue, blue.", "Blue."),
    (
        'Use "finally" to start the last paragraph.',
        "It is cold out there.\n\nFinally it rained.",
        "It is cold out there.\n\nIt rained at last.",
    ),
    (
        'The word "hope" should be the last word of the first sentence.',
        "There is hope. It rained.",
        "There is rain. It rained.",
    ),
    (
        "The second sentence must contain a comma.",
        "It rained. So, it was wet.",
        "It rained. It was wet.",
    ),
    (
        "There must be a question mark in the first sentence.",
        "Did it rain? It did.",
        "It rained. Did it?",
    ),
    ("At least one sentence must be a question.", "It rains. Does it?", "It rains. It is wet."),
    (
        "At least one sentence must end with an exclamation mark.",
        "It rains. It does!",
        "It rains. It is wet.",
    ),
    (
        "At least one paragraph must contain a question.",
        "It rains here. Does it?\n\nIt was cold.",
        "It rains here.\n\nIt was cold.",
    ),
    (
        'At least one line should start with "And".',
        "It rained\nAnd it poured",
        "It rained\nIt poured",
    ),
    (
        "At least one bullet point must contain a number.",
        "- It has 3 legs\n- It runs",
        "- It has legs\n- It runs",
    ),
    (
        "At least one sentence should have more than 15 words.",
        sentences(1) + " " + words(25),
        sentences(3),
    ),
    (
        "Make at least one of the sentences a question.",
        "It rains. Does it?",
        "It rains. It is wet.",
    ),
    ("Keep your sentences under 15 words.", sentences(3), words(30)),
    ("Your sentences can't be longer than 18 words.", sentences(3), words(30)),
    ("Each sentence must contain between 3 and 8 words.", sentences(3), words(30)),
    (
        "The first sentence should be under 8 words.",
        "Rain fell. " + words(20),
        words(20) + " Rain fell.",
    ),
    ("Don't write paragraphs longer than 4 sentences.", paragraphs(2), sentences(8)),
    ("Lines no longer than 30 characters.", LINES, LONG_LINES),
    ("Each line must have at most 5 words.", LINES, LONG_LINES),
    ("No line longer than 20 characters.", LINES, LONG_LINES),
    ("Bullets of at most 10 words each.", bullets(3), "- " + words(30)),
    ("Don't let any bullet point exceed 10 words.", bullets(3), "- " + words(30)),
    ("Create a table with two rows and three columns.", TABLE, SMALL_TABLE),
    ("Make a 3-column table.", TABLE, SMALL_TABLE),
    ("The table needs 3 columns.", TABLE, SMALL_TABLE),
    ("Give me the answer in a two-column table.", SMALL_TABLE, TABLE),
    ("Just JSON, nothing else.", TWO_KEYS, "It rains."),
    ("Only output the JSON.", TWO_KEYS, "It rains."),
    ('Put the result in a JSON object with the key "answer".', '{"answer": 3}', '{"a": 3}'),
    ("The answer should be one number.", "42", "It is so."),
    ("Use one all-caps word.", "It is VERY wet.", "It is wet."),
    ("At least 3 words must be in all capital letters.", "It IS VERY WET.", "It is wet."),
    ("Capitalize the first letter of every word.", "It Rains A Lot", "It rains a lot"),
    ("Don't capitalize any letters.", "it rains.", "It rains."),
    (
        "Use title case for the title.",
        "# My Great Day\n\nIt rained.",
        "# my great day\n\nIt rained.",
    ),
    ("Write the first line in capitals.", "RAIN FELL\nand so on", "Rain fell\nAND SO ON"),
    ("Do not use any of these words: rain, snow.", "It was cold.", "The rain fell."),
    ("Don't use the words rain, snow, or wind.", "It was cold.", "The rain fell."),
    ("Forbidden: the word 'rain'.", "It was cold.", "The rain fell."),
    ('The word "rain" must be absent.', "It was cold.", "The rain fell."),
    ('"rain" is a banned word.', "It was cold.", "The rain fell."),
    ('Do not, under any circumstances, use the word "rain".', "It was cold.", "The rain fell."),
    ('Nowhere should the word "rain" appear.', "It was cold.", "The rain fell."),
    ('Use neither "rain" nor "snow".', "It was cold.", "The rain fell."),
    (
        'Include each of these words at least once: "rain", "snow".',
        "Rain and snow.",
        "Rain and wind.",
    ),
    ("Make use of the words rain and snow.", "Rain and snow.", "Rain and wind."),
    ('Work the word "harbor" into your answer.', "A harbor.", "A lake."),
    ('Your answer needs the word "harbor" in it.', "A harbor.", "A lake."),
    ('I want to see the word "harbor".', "A harbor.", "A lake."),
    ('At some point use the word "harbor".', "A harbor.", "A lake."),
    ('Include at least one of "rain" or "snow".', "Rain fell.", "Wind rose."),
    ('Use "rain" and "snow" in the same sentence.', "Rain and snow. It was cold.", "Rain. Snow."),
    ("The letter must have three paragraphs.", "", ""),
    ("Write a three-sentence summary.", "", ""),
    ("The summary should be two sentences long.", "", ""),
    ("Single-paragraph response.", paragraphs(1), paragraphs(3)),
    ("Give me a 3-bullet list.", bullets(3), bullets(6)),
    ("A five-item numbered list.", numbered(5), numbered(3)),
    ("Nothing longer than 60 words.", words(30), words(100)),
    ("Cut it down to 50 words or less.", words(30), words(100)),
    ("You have a 100-word limit.", words(60), words(150)),
    ("There's a limit of 100 words.", words(60), words(150)),
    ("100 words is the maximum.", words(60), words(150)),
    ("Use as few as 2 and as many as 4 sentences.", sentences(3), sentences(6)),
    ("No fewer than 50 and no more than 100 words.", words(70), words(150)),
    ("50 words minimum and 100 words maximum.", words(70), words(150)),
    ("Write upwards of 50 words.", words(70), words(20)),
    ("2-3 sentences max.", sentences(2), sentences(5)),
    ("One or two sentences.", sentences(2), sentences(5)),
    ("Response length: 3 sentences.", sentences(3), sentences(6)),
    ("Max length 100 words.", words(60), words(150)),
    ("Total characters must not exceed 300.", words(20), words(100)),
    ("All in one paragraph.", paragraphs(1), paragraphs(3)),
    ("Give me a list of 5 bullet points.", bullets(5), bullets(3)),
    ("List three things as bullet points.", bullets(3), bullets(6)),
    ("The list must not have more than 5 items.", numbered(4), numbered(7)),
    ("No numbered lists.", sentences(3), numbered(4)),
    (
        "All bullets should end with a period.",
        "- Rain fell.\n- Wind rose.",
        "- Rain fell.\n- Wind rose",
    ),
    (
        "No bullet should end with a period.",
        "- Rain fell\n- Wind rose",
        "- Rain fell.\n- Wind rose.",
    ),
    ("Five bullet points, no more than 10 words each.", bullets(5), bullets(3)),
    ("Use semicolons at least twice.", "a; b; c", "a b c"),
    (
        "Every sentence must contain a comma.",
        "So, it rains. Oh, it does.",
        "It rains. Oh, it does.",
    ),
    ("No quotation marks.", "It rains.", 'It "rains".'),
    ("End all sentences with periods.", "It rains. It does.", "It rains! It does."),
    ("Only use questions.", "Does it? Will it?", "It does. It will."),
    ("Use emojis.", "It rains 🎉🎉", "It rains"),
    ("Put at least one phrase in bold.", "It is **very wet** now.", "It is wet."),
    ("Don't use bold or italics.", "It is wet.", "It is **wet**."),
    ("Use italics at least once.", "It is *very* wet.", "It is wet."),
    ("Use a code block.", "```\nx\n```", "x"),
    ("Everything in one code block.", "```\nx\n```", "x"),
    ("Spanish only.", SPANISH, ""),
    ("Use German for your answer.", GERMAN, ""),
    ("German, please.", GERMAN, ""),
    ("No letter 'e'.", "A sky so gray", "The sky"),
    ("Avoid using the letter 'e' in your response.", "A sky so gray", "The sky"),
    ("The letter e is forbidden.", "A sky so gray", "The sky"),
    ("None of the words may contain the letter e.", "A sky so gray", "The sky"),
    ("Each sentence starts with the word 'We'.", "We ran. We fell.", "We ran. They fell."),
    ('Kick things off with "Listen".', "Listen, it rains.", "It rains."),
    ("Let the last sentence be 'Good night.'", "It rained. Good night.", "It rained."),
    ("Finish every line with a comma.", "it rained,\nit poured,", "it rained,\nit poured."),
    ("Never end a sentence with an exclamation mark.", "It rained.", "It rained!"),
    ('Avoid starting with "I".', "It rained.", "I saw rain."),
    ("Only say yes or no.", "no", "It rains a lot."),
    ("Reply 'yes' or 'no', nothing more.", "no", "It rains a lot."),
    ("Answer with one letter: A, B, C, or D.", "B", "It is the second."),
    ("True or false only.", "True", "It rains a lot."),
    ("Respond with exactly one of: low, medium, high.", "low", "It rains a lot."),
    ("Output nothing but the word yes.", "yes", "It rains."),
    ("In French, at most 50 words.", FRENCH, ""),
    ("Three bullet points; no numbers.", "- a b\n- c d\n- e f", "- a 1\n- b 2\n- c 3\n- d 4"),
]
