"""Addresses of images in conversations: which ones are passed on to a model."""

from __future__ import annotations

import re

__all__ = ["LARGEST", "has_scheme", "image_problem"]

LARGEST = 20 << 20
"""Bytes of an image; servers take no more."""

_DATA = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,([A-Za-z0-9+/]+={0,2})")
_WEB = re.compile(r"https?://[^\s/]+", re.IGNORECASE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+:", re.IGNORECASE)


def has_scheme(url: str) -> bool:
    """Tell an address from a path."""
    return _SCHEME.match(url) is not None


def image_problem(url: str) -> str | None:
    """Say why an image can't be passed on, never what it holds; ``None`` where it can."""
    if _WEB.match(url):
        return None
    if url[:5].lower() == "data:":
        match = _DATA.fullmatch(url)
        if match is None or len(match[1]) % 4:
            return "an image is data of another kind than base64 of PNG, JPEG, GIF or WebP"
        return "an image is larger than 20 MiB" if len(match[1]) > LARGEST * 4 // 3 + 4 else None
    if has_scheme(url):
        return f"an image has the address {url[:40]!r}, which isn't one of the web"
    return f"the image {url[:80]!r} is a file, and files are read only with --images FOLDER"
