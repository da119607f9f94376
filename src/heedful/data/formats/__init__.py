"""Formats: foreign files to samples, lazily; one file a format.

``open_source(path)`` detects a file's format and gives its rows: samples, and for each row that
cannot be read the reason why.
"""

from __future__ import annotations

from heedful.data.formats.base import Format, Row
from heedful.data.formats.source import FORMATS, Source, detect, named, open_source, read

__all__ = [
    "FORMATS",
    "Format",
    "Row",
    "Source",
    "detect",
    "named",
    "open_source",
    "read",
]
