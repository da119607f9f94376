"""What is known of English words, for splitting sentences: Punkt's data, or lists of our own.

The trained parameters are read where NLTK keeps them (``nltk.download("punkt_tab")`` puts them
there); then sentences are NLTK's, whether or not the ``nltk`` package is installed. Else the short
lists below serve, so that nothing is ever downloaded. They hold no word of NLTK's data that is not
plain English, and aim at its decisions: where Punkt does not know an abbreviation, such as "e.g",
neither do they, because IFEval's published counts are Punkt's.
"""

from __future__ import annotations

import functools
import os
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from heedful.errors import VerifierError
from heedful.verify.sentences import LOWER, UPPER, UPPER_INSIDE, Parameters, Splitter

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["built_in", "punkt", "sentence_rules", "splitter"]


def sentence_rules() -> str:
    """Say what sentences are split by: ``"built in"`` or ``"punkt_tab at <folder>"``.

    Raises:
        VerifierError: there is Punkt data and it cannot be read.
    """
    return splitter().parameters.source


@functools.cache
def splitter() -> Splitter:
    """Return the splitter for English, the same one as long as the process runs.

    Raises:
        VerifierError: there is Punkt data and it cannot be read.
    """
    return Splitter(punkt() or built_in())


def punkt() -> Parameters | None:
    """Read the trained parameters where NLTK looks for them; ``None`` where there are none.

    Raises:
        VerifierError: there are some and they cannot be read.
    """
    for folder in _places():
        try:
            present = all((folder / name).is_file() for name in _FILES)
        except (OSError, zipfile.BadZipFile):
            continue
        if present:
            return _read(folder)
    return None


_FILES = ("abbrev_types.txt", "collocations.tab", "sent_starters.txt", "ortho_context.tab")
_MODEL = "tokenizers/punkt_tab"


def _places() -> Iterator[Path | zipfile.Path]:
    """List the folders where NLTK looks, in its order, unpacked data before packed."""
    prefix = Path(sys.prefix)
    roots = [Path(each) for each in os.environ.get("NLTK_DATA", "").split(os.pathsep) if each]
    roots += [Path("~/nltk_data").expanduser()]
    roots += [prefix / "nltk_data", prefix / "share" / "nltk_data", prefix / "lib" / "nltk_data"]
    if sys.platform == "win32":
        roots += [Path(os.environ.get("APPDATA", "C:\\")) / "nltk_data"]
        roots += [Path(f"{drive}:\\nltk_data") for drive in "CDE"]
    else:
        shared = ("/usr/share", "/usr/local/share", "/usr/lib", "/usr/local/lib")
        roots += [Path(each) / "nltk_data" for each in shared]
    for root in roots:
        yield root / _MODEL / "english"
        packed = root / f"{_MODEL}.zip"
        if packed.is_file():
            yield zipfile.Path(packed, "punkt_tab/english/")


def _read(folder: Path | zipfile.Path) -> Parameters:
    try:
        lines = {name: (folder / name).read_text(encoding="utf-8").split("\n") for name in _FILES}
        pairs = [line.split("\t") for line in lines["collocations.tab"] if line]
        contexts = [line.split("\t") for line in lines["ortho_context.tab"] if line]
        return Parameters(
            source=f"punkt_tab at {folder}",
            abbreviations=frozenset(filter(None, lines["abbrev_types.txt"])),
            collocations=frozenset((first, second) for first, second in pairs),
            starters=frozenset(filter(None, lines["sent_starters.txt"])),
            contexts={word: int(flags) for word, flags in contexts},
        )
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise VerifierError(
            f"Punkt's data cannot be read: {error}",
            where=str(folder),
            mend="install it again with nltk.download('punkt_tab', force=True), or remove it",
        ) from error


# --- our own lists ------------------------------------------------------------------------------

_ABBREVIATIONS = """
mr mrs ms messrs dr prof rep reps sen gov gen col maj lt sgt adm jr sr st ft
inc corp co cos ltd bros
jan feb aug sept sep oct nov dec mon tues wed thurs fri sat
ave blvd rd mt
a.m p.m a.d b.c ph.d m.b.a m.d u.s u.s.a u.k u.n n.y d.c l.a
vs v no vol fig p pp ed eds etc ca
ala ariz calif colo conn fla ga ill ind kan ky mass md mich minn miss mo mont neb nev okla ore
pa tenn tex va vt wash wis wyo
"""


@functools.cache
def built_in() -> Parameters:
    """Return heedful's own word lists."""
    return Parameters(source="built in", abbreviations=frozenset(_ABBREVIATIONS.split()), collocations=frozenset(), starters=frozenset(), contexts={})
