"""Data on English words for splitting sentences: Punkt's parameters, or our own lists.

The trained parameters are read where NLTK keeps them (``nltk.download("punkt_tab")`` puts them
there); then sentences are NLTK's, whether or not the ``nltk`` package is installed. Else the short
lists below serve, so that nothing is ever downloaded. They aim at Punkt's decisions, because
IFEval's published counts are Punkt's: where it does not know an abbreviation, such as "e.g",
neither do they.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from heedful.core.errors import VerifierError
from heedful.verify.text.sentences import (
    LOWER_INSIDE,
    UPPER_AT_START,
    UPPER_INSIDE,
    Parameters,
    Splitter,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


def sentence_rules() -> str:
    """Say what sentences are split by: ``"built in"`` or ``"punkt_tab at <folder>"``."""
    return splitter().parameters.source


@functools.cache
def splitter() -> Splitter:
    """Return the splitter for English, the same one as long as the process runs."""
    return Splitter(punkt() or built_in())


def punkt() -> Parameters | None:
    """Read the trained parameters where NLTK looks for them; ``None`` where there are none."""
    for folder in _places():
        try:
            present = all((folder / name).is_file() for name in _FILES)
        except OSError:  # a folder that may not be looked into
            continue
        if present:
            return _read(folder)
    return None


_FILES = ("abbrev_types.txt", "collocations.tab", "sent_starters.txt", "ortho_context.tab")
_MODEL = "tokenizers/punkt_tab"


def _places() -> Iterator[Path]:
    """List the folders where NLTK looks, in its order."""
    prefix = Path(sys.prefix)
    roots = [Path(each) for each in os.environ.get("NLTK_DATA", "").split(os.pathsep) if each]
    with contextlib.suppress(RuntimeError):  # a user without a home
        roots.append(Path.home() / "nltk_data")
    roots += [prefix / "nltk_data", prefix / "share" / "nltk_data", prefix / "lib" / "nltk_data"]
    if sys.platform == "win32":
        shared = [os.environ.get("APPDATA", "C:\\"), *(f"{drive}:\\" for drive in "CDE")]
    else:
        shared = ["/usr/share", "/usr/local/share", "/usr/lib", "/usr/local/lib"]
    for root in (*roots, *(Path(each) / "nltk_data" for each in shared)):
        yield root / _MODEL / "english"


def _read(folder: Path) -> Parameters:
    try:
        lines = {name: (folder / name).read_text(encoding="utf-8").split("\n") for name in _FILES}
        pairs = [line.split("\t") for line in lines["collocations.tab"] if line]
        contexts = [line.split("\t") for line in lines["ortho_context.tab"] if line]
        flags = {word: int(number) for word, number in contexts}
        return Parameters(
            source=f"punkt_tab at {folder}",
            abbreviations=frozenset(filter(None, lines["abbrev_types.txt"])),
            collocations=frozenset((first, second) for first, second in pairs),
            starters=frozenset(filter(None, lines["sent_starters.txt"])),
            seen=lambda word: flags.get(word, 0),
        )
    except (OSError, ValueError) as error:
        raise VerifierError(
            f"Punkt's data cannot be read: {error}",
            where=str(folder),
            hint="install it again with nltk.download('punkt_tab', force=True), or remove it",
        ) from error


# --- our own lists ------------------------------------------------------------------------------


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words that are more often abbreviations than sentence ends, and are written with a full stop.
_ABBREVIATIONS = _words(
    """
    mr mrs ms messrs dr prof st rep reps sen gov gen col maj lt sgt adm jr sr
    inc corp co cos ltd bros dept ft mt ave vs
    jan feb aug sept sep oct nov dec tues wed thurs fri
    a.m p.m a.d b.c u.s u.s.a u.s.s.r u.k u.n d.c n.y l.a n.j ph.d m.b.a j.b j.c j.k j.p j.r r.j
    ala ariz calif colo conn fla kan mich minn okla pa tenn va vt wash wis
    c d e f g h k l m n p r s t v w
    """
) | {". . "}  # an ellipsis of three spaced dots, less the last

# Words of every kind of text that are capitalised where a sentence starts and nowhere else.
_STARTERS = _words(
    """
    a about above after again all also although always among an and another any are as at be
    because before being below besides between both but by can choose consider could create
    despite did do does during each either even every everyone everything few finally find first
    for from further furthermore get give given have having he her here hers him his how however
    i if in indeed instead is it its just keep last later let like make many maybe meanwhile
    moreover most my neither never nevertheless next no nobody none nor not note nothing now of
    often on once one only or other others our out over overall perhaps please rather remember
    second see several she should similarly simply since so some someone something sometimes
    soon start still such take that the their them then there therefore these they third this
    those though through thus to together too try two under unfortunately unless unlike until up
    upon us use used using was we were what when where whether which while who whoever whom
    whose why will with within without would write yes yet you your
    """
)

# Endings of common nouns and adjectives, which also stand capitalised inside of names.
_COMMON_ENDINGS = (
    "tion", "sion", "tions", "ment", "ments", "ance", "ence", "ness", "ity", "ing", "ings",
    "ship", "ism", "ogy", "ive", "ful", "ous", "ical", "ary", "ges", "ors", "ies",
)  # fmt: skip


def _seen(word: str) -> int:
    """Guess how a word is written by what word it is, or by its ending."""
    if word in _STARTERS:
        return UPPER_AT_START | LOWER_INSIDE
    if word.endswith(_COMMON_ENDINGS):
        return UPPER_AT_START | UPPER_INSIDE | LOWER_INSIDE
    return 0


def built_in() -> Parameters:
    """Return heedful's own word lists."""
    return Parameters(
        source="built in",
        abbreviations=_ABBREVIATIONS,
        collocations=frozenset(),
        starters=_STARTERS,
        seen=_seen,
    )
