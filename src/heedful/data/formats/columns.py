"""What the columns of anybody's table are called, and cells that hold a list of constraints.

Where a file is in no format, its columns are taken by their usual names; the result is a mapping,
as with ``--map``, so that a run goes on with it and the user can type another.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from heedful.core import scripts
from heedful.core.errors import UsageError
from heedful.core.noun import meant
from heedful.core.nouns import Sample
from heedful.data.formats import chat

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

USUAL: dict[str, tuple[str, ...]] = {
    "id": ("id", "uid", "uuid"),
    "conversation": ("conversation", "messages", "chat", "dialogue", "dialog", "chat_history"),
    "prompt": (
        *("prompt", "instruction", "instructions", "query", "question", "input", "inputs"),
        *(
            "user_prompt",
            "user_question",
            "user_query",
            "user_input",
            "user_message",
            "prompt_text",
            "request",
        ),
        *("input_text", "question_text", "problem", "task"),
    ),
    "response": (
        *("response", "output", "outputs", "completion", "completions", "generation", "prediction"),
        *("model_output", "model_response", "model_answer", "generated_text", "generated"),
        *("output_text", "response_text", "llm_output", "actual_output", "assistant", "reply"),
        *("predicted", "candidate", "answer_text"),
    ),
    "checklist": (
        *("checklist", "constraints", "rubrics", "rubric", "criteria", "criterion"),
        *("requirements", "requirement", "constraint", "checklists", "checks", "check_list"),
        *("grading_criteria", "evaluation_criteria", "rubric_items", "guidelines"),
    ),
    "reference": (
        *("reference", "ground_truth", "expected_output", "expected", "target", "gold_answer"),
        *("reference_answer", "reference_response", "golden_answer", "ideal", "gold"),
        *("correct_answer", "expected_answer", "gts", "reference_output", "expected_response"),
        *("ideal_response", "ideal_answer", "ideal_output", "gold_output", "gold_response"),
    ),
    "labels": ("labels", "label", "human_labels", "human_label", "gold_labels", "gold_label"),
    "tool_calls": ("tool_calls",),
    "annotations": ("annotations",),
    "judgments": ("judgments",),
    "preferred_to": ("preferred_to",),
    "instruction_id": ("instruction_id",),
}
"""Usual names of the fields, the most usual first; case and signs between words don't matter."""

_PERHAPS = ("answer", "answers", "result", "text")
"""Names of a response, where nothing else is one."""

_ENDINGS = ("_out", "_output", "_response", "_answer", "_completion", "_generation")
"""Endings of a model's column, as in ``gpt_out``."""

_BEGINNINGS = ("response_", "output_", "answer_", "completion_")

_NAMES = {name: field for field, names in USUAL.items() for name in names}

_SHARE = 0.6
_CELLS = 3
"""Share and number of a column's cells with one ``;`` that make it a column of lists."""

_MANY = 2
"""Parts of a cell that may be one sentence; more are a list."""

_BULLET = re.compile(r"[-*•·–‣◦]\s+|\[[ xX]?\]\s+|\(?\d{1,2}[.)、]\s*(?=\S)")
_BETWEEN = {";": re.compile(r"[;；]"), "|": re.compile(r"(?<=\s)\|(?=\s)")}
_NUMBER = re.compile(r"(?:(?<=\s)|^)\(?(\d{1,2})[.)、](?!\d)\s*")

_SCRIPTS = [re.compile(f"[{script}]") for script in (scripts.KANA, scripts.HAN, scripts.HANGUL)]
_UNSPACED = re.compile(f"[{scripts.UNSPACED}]")
_GOES_ON = re.compile(r"(?:and|or|but)\b", re.IGNORECASE)
"""Beginnings of a part that goes on with the sentence before it."""

_EACH_ITS_OWN = re.compile(r"(?:check|constraint|criterion|requirement|rubric)_?\d{1,2}")
"""Names of columns that hold one constraint each, as in ``constraint_1``."""

NUMBERED = "1)"
_ORDER = (NUMBERED, "|", ";")
"""What may stand between the constraints of one cell, besides the end of a line."""


def plain_name(column: str) -> str:
    """Return a column's name as the usual ones are written: ``Gpt Out`` is ``gpt_out``."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", column.strip())
    return re.sub(r"[\W_]+", "_", words).strip("_").casefold()


def taken(
    records: Sequence[Mapping[str, Any]], response: str | None = None, *, sure: bool = False
) -> dict[str, str]:
    """Take the columns of a table's first rows for fields: the field by the column.

    The response may be named; else it is found, by sure names only if that is wanted. Where several
    columns may be it, that is an error.
    """
    names = list(dict.fromkeys(name for record in records for name in record))
    names = [name for name in names if not set(name) & set(",=")]  # no mapping could name it
    of_field: dict[str, list[str]] = {}
    for name in names:
        field = _NAMES.get(plain_name(name))
        if field is not None and _holds(field, records, name):
            of_field.setdefault(field, []).append(name)
    found = {field: min(given, key=_place(field)) for field, given in of_field.items()}
    found |= _misspelt(names, found)
    if "prompt" in found and found.get("conversation"):
        del found["prompt"]
    if response is not None:
        found = {field: name for field, name in found.items() if name != response}
        found["response"] = response
    elif "response" not in of_field or plain_name(found["response"]) != "response":
        answers = responses(records, sure=sure)
        found.pop("response", None)
        if len(answers) > 1:
            raise _ambiguous(answers, found)
        found |= {"response": answers[0]} if answers else {}
    order = {name: place for place, name in enumerate(names)}
    by_place = sorted(found.items(), key=lambda item: order.get(item[1], 0))
    columns = {name: field for field, name in by_place}
    if "checklist" in found:
        columns[found["checklist"]] += _marked(record.get(found["checklist"]) for record in records)
    else:
        own = [name for name in names if _EACH_ITS_OWN.fullmatch(plain_name(name))]
        columns |= {name: "checklist" for name in own if _holds("checklist", records, name)}
    return columns


def responses(records: Sequence[Mapping[str, Any]], *, sure: bool = False) -> list[str]:
    """List the columns that may be the response."""
    likely, perhaps = [], []
    for name in dict.fromkeys(name for record in records for name in record):
        plain = plain_name(name)
        field = _NAMES.get(plain)
        if not _holds("response", records, name) or field not in (None, "response"):
            continue
        if field == "response" or plain.endswith(_ENDINGS) or plain.startswith(_BEGINNINGS):
            likely.append(name)
        elif plain in _PERHAPS:
            perhaps.append(name)
    return likely or ([] if sure else perhaps)


def _marked(cells: Iterable[Any]) -> str:
    mark = mark_of(cells)
    return f"[{mark}]" if mark else ""


def mark_of(cells: Iterable[Any]) -> str:
    """Say what stands between the constraints of a column's cells, besides the ends of lines.

    Several marks may, each in cells of its own; then they are all given, one after the other.
    """
    texts = [cell for cell in cells if isinstance(cell, str) and cell.strip()]
    texts = [text for text in texts if not _is_json(text)]
    single = [text for text in texts if "\n" not in text.strip()]
    if not single:
        return ""
    found = ""
    for mark in _ORDER:
        parts = [len(_parts(text, mark)) for text in single]
        pairs = sum(count == _MANY for count in parts)
        sure = mark == NUMBERED or (mark == "|" and not any(map(_UNSPACED.search, single)))
        enough = sure or (pairs >= _CELLS and pairs >= _SHARE * len(single))
        if max(parts) > _MANY or (pairs and enough):
            found += mark
    return found


def is_mark(text: str) -> bool:
    """Check whether a text is what :func:`mark_of` gives: each mark at most once, in order."""
    return bool(text) and text == "".join(mark for mark in _ORDER if mark in text)


def listed(cell: str, marks: str = "") -> list[str]:
    """Take a cell apart: by lines, or by a mark; bullets and numbers before each are left out."""
    found = [mark for mark in _ORDER if mark in marks] or [""]
    parts = (_parts(cell, mark) for mark in found)
    return next((each for each in parts if len(each) > 1), _parts(cell, found[0]))


def _parts(cell: str, mark: str) -> list[str]:
    lines = [line.strip() for line in cell.splitlines() if line.strip()]
    if len(lines) > 1 or not mark:
        if len(lines) > 1 and all(_BULLET.match(line) for line in lines):
            lines = [_BULLET.sub("", line, count=1) for line in lines]
        return lines
    if mark == NUMBERED:
        return _numbered(cell.strip())
    parts = [part for part in map(str.strip, _BETWEEN[mark].split(cell)) if part]
    numbered = [bool(_BULLET.match(part)) for part in parts]
    one = len(set(map(_scripts, parts))) > 1 or any(map(_GOES_ON.match, parts))
    return [cell.strip()] if one or len(set(numbered)) > 1 else parts


def said(columns: Mapping[str, str]) -> str:
    """Say in one line what was taken for what; nothing where that goes without saying."""
    parts = []
    for name, field in columns.items():
        bare, _, mark = field.removesuffix("]").partition("[")
        at = f" (split at {'its numbers' if mark == NUMBERED else mark})" if mark else ""
        if at or name != bare:
            parts.append(f"{name} as {bare}{at}")
    return f"read {', '.join(parts)}: --map {written(columns)}" if parts else ""


def repeats(records: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> str:
    """Say so where each row is one criterion of the response in the row before it."""
    name_of = {field.partition("[")[0]: name for name, field in columns.items()}
    if not {"prompt", "response", "checklist"} <= name_of.keys():
        return ""
    prompt, response, one = (name_of[each] for each in ("prompt", "response", "checklist"))
    shared = [(record.get(prompt), record.get(response)) for record in records]
    again = sum(this == last for last, this in pairwise(shared))
    if 2 * again < len(records) or again == 0:
        return ""
    return (
        "many rows repeat the prompt and the response before them, and each counts as a response; "
        f"one row a response, with {one} as a list, counts responses fully met"
    )


def written(columns: Mapping[str, str]) -> str:
    """Write a mapping as the command line takes it, fit for a shell."""
    import shlex

    return shlex.quote(mapping(columns))


def mapping(columns: Mapping[str, str]) -> str:
    """Write a mapping."""
    return ",".join(f"{name}={field}" for name, field in columns.items())


def _holds(field: str, records: Sequence[Mapping[str, Any]], name: str) -> bool:
    """Tell whether a column's values are such as the field has."""
    values = [record[name] for record in records if record.get(name) not in (None, "")]
    if field in ("prompt", "response"):
        return bool(values) and all(
            isinstance(v, str | int | float) or chat.is_message(v) for v in values
        )
    if field == "checklist":
        return bool(values) and all(isinstance(value, str | list | dict) for value in values)
    if field == "conversation":
        return bool(values) and all(isinstance(value, list | str) for value in values)
    if field == "reference":
        return all(isinstance(value, str) for value in values)
    return True


def _place(field: str) -> Any:
    return lambda name: USUAL[field].index(plain_name(name))


def _misspelt(names: Sequence[str], found: Mapping[str, str]) -> dict[str, str]:
    """Find fields in columns that read like them, such as ``checklst``."""
    near: dict[str, str] = {}
    for name in names:
        field = None if plain_name(name) in _NAMES else meant(Sample, plain_name(name))
        if field in ("prompt", "checklist", "response") and field not in found:
            near.setdefault(field, name)
    return near


def _ambiguous(answers: Sequence[str], found: Mapping[str, str]) -> UsageError:
    """Make the error of a table with several columns that may be the response."""
    import shlex

    others = {name: field for field, name in found.items()}
    first = written({**others, answers[0]: "response"})
    each = " ".join(f"--response {shlex.quote(name)}" for name in answers)
    which = " or ".join(map(repr, answers))
    return UsageError(
        f"the response may be {which}",
        hint=f"--map {first} takes the one; heedful evaluate FILE {each} compares them",
    )


def _scripts(text: str) -> tuple[bool, ...]:
    """Say in which scripts a text is: parts in different ones are translations of each other."""
    return tuple(bool(pattern.search(text)) for pattern in _SCRIPTS)


def _is_json(text: str) -> bool:
    return text.lstrip()[:1] in ("[", "{")


def _numbered(cell: str) -> list[str]:
    """Split at numbers that count up from 1; a cell that doesn't begin with 1 is one part."""
    starts = [(0, 0)]
    for found in _NUMBER.finditer(cell):
        if int(found[1]) == len(starts):
            starts.append(found.span())
    if len(starts) <= _MANY or starts[1][0] != 0:
        return [cell]
    ends = [begin for begin, _ in starts[2:]] + [len(cell)]
    parts = [cell[end:stop] for (_, end), stop in zip(starts[1:], ends, strict=True)]
    return [part.strip().rstrip(";,；，").rstrip() for part in parts]
