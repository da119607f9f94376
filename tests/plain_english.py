"""Constraints in plain English as people write them, each with a response that meets it and one
that doesn't.

Every text can be decided by code. Which half a text belongs to depends on its position
(``plain_texts.halves``). Responses are made so that no reading of a unit changes the verdict.
"""

from __future__ import annotations

from plain_responses import (
    ENGLISH,
    FRENCH,
    SPANISH,
    bullets,
    paragraphs,
    sentences,
    words,
)

JSON = '{"name": "Ann", "age": 3, "city": "Rome"}'
TABLE = "| Name | Price | Stock |\n|---|---|---|\n| Tea | 3 | 5 |\n| Rice | 2 | 9 |"
TABLE_2 = "| Name | Price |\n|---|---|\n| Tea | 3 |"

TEXTS: list[tuple[str, str, str]] = [
    # How many words.
    ("Your answer must not exceed 100 words.", words(60), words(140)),
    ("You may use at most 90 words.", words(60), words(120)),
    ("Word limit: 90 words.", words(60), words(120)),
    ("Minimum length: 40 words.", words(60), words(20)),
    ("The total length must not exceed 200 words.", words(120), words(260)),
    ("Your whole answer must fit in 60 words.", words(40), words(90)),
    ("Give your answer in 60 words or fewer.", words(40), words(90)),
    ("It must be more than 60 words.", words(90), words(40)),
    ("The story should not be shorter than 60 words.", words(90), words(40)),
    ("Your answer has to be a single word.", "Rain", words(5)),
    ("One-word answer only.", "Rain", words(5)),
    # Sentences.
    ("Keep your answer to one sentence.", sentences(1), sentences(3)),
    ("Respond in a single sentence please.", sentences(1), sentences(3)),
    ("Sentences must not exceed 12 words.", sentences(3), words(20)),
    ("Ask at least one question.", "Rain fell. Who saw it?", sentences(2)),
    # Paragraphs.
    ("Answer in two paragraphs, each with at most 40 words.", paragraphs(2), paragraphs(4)),
    ("No paragraph should be longer than 60 words.", paragraphs(3), words(90)),
    ("End every paragraph with an exclamation mark.", "Rain!\n\nIt fell!", "Rain!\n\nIt fell."),
    # Lists.
    ("Use bullet points.", bullets(4), paragraphs(2)),
    ("The list must have exactly 4 bullet points.", bullets(4), bullets(6)),
    ("The list should contain at least five items.", bullets(6), bullets(3)),
    (
        "Each bullet should be one sentence.",
        "- Rain fell.\n- It was wet.",
        "- Rain fell. It was wet.\n- So. No.",
    ),
    ("Don't use any lists.", paragraphs(2), bullets(4)),
    ("Bullet points are not allowed.", paragraphs(2), bullets(4)),
    # Words that must be there.
    ('Use the word "harbor" at least two times.', "A harbor is a harbor.", "The harbor is calm."),
    ('Mention both "harbor" and "sea".', "The harbor meets the sea.", "The harbor is calm."),
    (
        "Include all of the following words: harbor, sea, wind.",
        "Harbor, sea and wind.",
        "Harbor and sea.",
    ),
    ('at least one of these words: "harbor", "sea"', "The sea is calm.", "The lake is calm."),
    (
        "Use at least one of the following words: harbor, sea, wind.",
        "The sea is calm.",
        "The lake is calm.",
    ),
    ('Mention either "harbor" or "sea".', "The sea is calm.", "The lake is calm."),
    ("The word harbor must appear at least once.", "A harbor is here.", "A lake is here."),
    # Words that must not be there.
    ("Must not mention melatonin.", "Take tea at night.", "Take melatonin at night."),
    ('No use of the word "very".', "It is good.", "It is very good."),
    # Letters, digits, signs.
    ("Use at least 3 commas.", "Rain, snow, hail, wind.", "Rain, snow."),
    ("Do not use em dashes.", "It rains, and how.", "It rains — and how."),
    ("Add at least two emojis to your answer.", "Rain 🎉 and snow 🎉.", "Rain falls."),
    ("End with an emoji.", "Rain falls 🎉", "🎉 Rain falls"),
    # Start and end.
    ('Begin your answer with the word "Dear".', "Dear Ann, it rains.", "Hello Ann, it rains."),
    ('Do not start with "Hello".', "Dear Ann, it rains.", "Hello Ann, it rains."),
    ("Your answer must end with a question mark.", "Does it rain?", "It rains."),
    ("Do not end with a question.", "It rains.", "Does it rain?"),
    ('Respond only with "yes" or "no".', "Yes", "It rains a lot."),
    ('The answer must be either "yes" or "no".', "No", "It rains a lot."),
    ("Answer with yes or no only.", "No", "It rains a lot."),
    # Case.
    ("Your entire response must be in capital letters.", "IT RAINS IN ROME.", "It rains in Rome."),
    ("Don't use capital letters.", "it rains in rome.", "It rains in Rome."),
    ("Answer in all lowercase letters, no capitals.", "it rains in rome.", "It rains in Rome."),
    # Language.
    ("Your reply has to be in French.", FRENCH, ENGLISH),
    # Formats.
    ("The JSON must have the keys name and age.", JSON, '{"name": 1}'),
    ("Include a table with three columns.", TABLE, TABLE_2),
    ("Use a table with the columns Name, Price and Stock.", TABLE, TABLE_2),
    ("The title should be in bold.", "**Rain**\n\nIt falls.", "Rain\n\nIt falls."),
    ("Wrap your entire answer in double quotes.", '"It falls."', "It falls."),
    (
        "Write the poem in two stanzas.",
        "Rain falls,\nsnow falls.\n\nHail falls,\nnight falls.",
        "Rain falls,\nsnow falls.",
    ),
    ("At most 280 characters including spaces.", words(20), words(100)),
    ("Include a postscript at the end.", "It rains.\n\nP.S. Take care.", "It rains."),
    ("Highlight at least two words in bold.", "It **rains** and **snows**.", "It rains."),
    # Two in one.
    ("Answer in Spanish and use at most 50 words.", SPANISH, ENGLISH),
    ("3 bullet points, each under 10 words", bullets(3), bullets(5)),
    ("At least one of these words: sun, moon, sky.", "The moon is up.", "The stars are up."),
    ("Make the response five sentences long.", sentences(5), sentences(4)),
]
