"""Tool calls and images, shown to a judge whose prompt has a place for them.

An image's address on the web is passed on as it is; whoever serves the model fetches it. A file is
read only where its folder was named, since rows may come from anybody.
"""

from __future__ import annotations

import re
from base64 import b64encode
from typing import TYPE_CHECKING, Any

from heedful.core.errors import RowError
from heedful.core.nouns import Critique, Status
from heedful.core.turns import LARGEST_IMAGE, has_parts, has_scheme, image_problem
from heedful.judges.prompts.template import asks_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from heedful.core.nouns import Sample
    from heedful.judges.base import Judge
    from heedful.judges.prompts import JudgePrompt

_SIGNATURES = (
    (rb"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"GIF8", "gif"),
    (b"RIFF....WEBP", "webp"),
)


class WithImages:
    """Shows a judge the image files of one folder."""

    def __init__(self, judge: Judge, folder: Path) -> None:
        self.seeing = judge
        self.folder = folder
        self.name = judge.name

    @property
    def config(self) -> Mapping[str, Any]:
        """The judge's configuration, and that it is shown files."""
        return {**self.seeing.config, "images": True}

    async def judge(self, sample: Sample, requested: Sequence[int] | None = None) -> Critique:
        """Judge a sample with its files; one that can't be read leaves its verdicts undecided."""
        try:
            return await self.seeing.judge(opened(sample, self.folder), requested)
        except RowError as error:
            places = range(len(sample.checklist)) if requested is None else requested
            constraints = [sample.checklist[place] for place in places]
            return Critique.undecided(constraints, Status.UNSUPPORTED, str(error), self.name)


def opened(sample: Sample, folder: Path) -> Sample:
    """Replace the paths of images by the contents of the files."""
    if not any(turn.images for turn in sample.conversation):
        return sample
    turns = [
        turn.model_copy(update={"images": tuple(_opened(url, folder) for url in turn.images)})
        if turn.images
        else turn
        for turn in sample.conversation
    ]
    return sample.model_copy(update={"conversation": tuple(turns)})


def unshown(sample: Sample, prompt: JudgePrompt | None) -> str | None:
    """Explain what a judge wouldn't see of a sample; ``None`` if it sees everything."""
    images = [url for turn in sample.conversation for url in turn.images]
    if not images and not sample.tool_calls and not has_parts(sample.conversation):
        return None
    own = getattr(prompt, "text", None)
    shows = own is None or (asks_for(own, "conversation") and asks_for(own, "response"))
    if prompt is not None and not (shows and getattr(prompt, "shows_parts", False)):
        what = "images" if images else "tool calls"
        return f"the prompt {prompt.name} doesn't show the row's {what} (use --prompt plain)"
    return next(filter(None, map(image_problem, images)), None)


def _opened(url: str, folder: Path) -> str:
    if has_scheme(url):
        return url
    where = repr(url[:80])
    try:
        home = folder.resolve(strict=True)
        path = (home / url).resolve(strict=True)
        if not path.is_relative_to(home):
            raise RowError("the image isn't in the folder of --images", where=where)
        if not path.is_file() or path.stat().st_size > LARGEST_IMAGE:
            raise RowError("the image isn't a file of at most 20 MiB", where=where)
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RowError(f"the image can't be read: {reason}", where=where) from error
    kind = next((kind for start, kind in _SIGNATURES if re.match(start, data, re.DOTALL)), None)
    if kind is None:
        raise RowError("the file isn't a PNG, JPEG, GIF or WebP image", where=where)
    return f"data:image/{kind};base64,{b64encode(data).decode()}"
