"""Responses of a known size, in which no reading of a unit changes the count."""

from itertools import cycle, islice

ENGLISH = "The rain falls on the town and the people go home because they want to stay dry tonight."
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
_WORDS = [
    "rain",
    "falls",
    "on",
    "the",
    "old",
    "town",
    "and",
    "people",
    "walk",
    "home",
    "under",
    "dark",
    "clouds",
]
_SENTENCES = [
    "Rain fell on the town.",
    "It was a cold night.",
    "People walked home.",
    "The lamps were lit.",
    "A dog barked twice.",
    "Nobody came out.",
    "The river rose.",
    "Morning was far away.",
]
_CHINESE = "今天下雨了我们都在家里看书喝茶听外面的风声直到天黑"
_CHINESE_SENTENCES = [
    "今天下雨了。",
    "我们在家看书。",
    "外面风很大。",
    "天黑得很早。",
    "明天会放晴。",
    "大家都很高兴。",
]


def words(number: int) -> str:
    """Write a sentence of so many words."""
    return f"{' '.join(islice(cycle(_WORDS), number)).capitalize()}."


def sentences(number: int) -> str:
    """Write so many sentences in one paragraph."""
    return " ".join(_SENTENCES[:number])


def paragraphs(number: int) -> str:
    """Write so many paragraphs of two sentences."""
    return "\n\n".join(" ".join(_SENTENCES[at : at + 2]) for at in range(number))


def bullets(number: int) -> str:
    """Write a list with so many bullets, each one of a few words."""
    return "\n".join(f"- {each}" for each in islice(cycle(_SENTENCES), number))


def numbered(number: int) -> str:
    """Write a numbered list of so many items."""
    return "\n".join(f"{at}. {_SENTENCES[at - 1]}" for at in range(1, number + 1))


def characters(number: int) -> str:
    """Write a sentence of so many Chinese characters, and a full stop."""
    return f"{''.join(islice(cycle(_CHINESE), number))}。"


def chinese_sentences(number: int) -> str:
    """Write so many Chinese sentences in one paragraph."""
    return "".join(_CHINESE_SENTENCES[:number])


def chinese_paragraphs(number: int) -> str:
    """Write so many Chinese paragraphs of two sentences."""
    return "\n\n".join("".join(_CHINESE_SENTENCES[at : at + 2]) for at in range(number))


def chinese_bullets(number: int) -> str:
    """Write a list with so many bullets in Chinese."""
    return "\n".join(f"- {each}" for each in islice(cycle(_CHINESE_SENTENCES), number))


def chinese_numbered(number: int) -> str:
    """Write a numbered list of so many items in Chinese."""
    return "\n".join(f"{at}. {_CHINESE_SENTENCES[at - 1]}" for at in range(1, number + 1))
