"""A folder of small runs to look at, and a client that was let in."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from starlette.testclient import TestClient

from heedful import Check, Constraint, Message, Sample, evaluate
from heedful.core.nouns import Critique, Judgment, Status
from heedful.judges import Panel
from heedful.pages.viewer.app import Keys, make_app
from heedful.pages.viewer.state import Viewer

__all__ = ["HOST", "HOSTILE", "client", "keys_of", "make_run", "notes", "open_client"]

HOST = "127.0.0.1:9"

HOSTILE = (
    "<script>alert(1)</script></script><img src=x onerror='alert(2)'>\" onclick=\"alert(3)\n"
    "\u202etxt.exe\u0000 {{ 7 * 7 }} " + "x" * 3000
)

PROMPTS = (
    "Write on rivers. Use no commas. Mention the delta.",
    "写一段关于河流的短文。",
    "اكتب عن الأنهار.",
)
ANSWERS = ("The river, wide, ends.", "河流奔向大海。", "النهر يجري.")


class Member:
    """Judges by the number of the sample: one in ``every`` is unmet."""

    def __init__(self, name: str, every: int) -> None:
        self.name = name
        self.config = {"judge": name, "every": every}

    async def judge(self, sample: Sample, requested: Sequence[int] | None = None) -> Critique:
        number = int(sample.id.rpartition("-")[2])
        status = Status.UNMET if number % self.config["every"] == 0 else Status.MET  # type: ignore[operator]
        places = range(len(sample.checklist)) if requested is None else requested
        judgment = Judgment(status=status, explanation=f"{self.name} saw “river”", judge=self.name)
        return Critique(judgments=(judgment,) * len(places), text=f"{self.name} speaks")


def notes(count: int, *, commas: int = 2) -> Iterator[Sample]:
    """Make samples in three languages; one in ``commas`` of the English ones has commas."""
    for number in range(count):
        language = number % 3
        response = ANSWERS[language]
        if number % commas:
            response = response.replace(",", "")
        yield Sample(
            id=f"note-{number}",
            conversation=(Message(role="user", content=PROMPTS[language]),),
            checklist=(
                Constraint(
                    text="Use no commas.", type="format", check=Check(id="punctuation:no_comma")
                ),
                Constraint(text="Mention the delta.", type="content", priority="primary"),
            ),
            response=HOSTILE if number == 4 else response,
            tags={"task": ("river", "河", "نهر")[language], "level": number % 2},
            labels=(True, None) if number % 4 == 0 else None,
        )


def make_run(directory: Path, count: int = 60, *, commas: int = 2, panel: bool = False) -> Path:
    """Make a finished run of so many samples."""
    judge = Panel(Member("a", 2), Member("b", 3), Member("c", 5)) if panel else "rules"
    evaluate(notes(count, commas=commas), judge=judge, run=directory)
    return directory


def open_client(root: Path, indexes: Path) -> tuple[TestClient, Viewer]:
    """Return a client that was let in, and the viewer."""
    keys = Keys(["127.0.0.1"], 9)
    viewer = Viewer(root, indexes)
    browser = TestClient(make_app(viewer, keys), base_url=f"http://{HOST}")
    browser.cookies.set(keys.cookie, keys.token)
    return browser, viewer


def client(root: Path, annotator: str | None = None) -> TestClient:
    """Return a client that was let in; indexes lie beside the folder."""
    browser, viewer = open_client(root, root.parent / "indexes")
    viewer.annotator = annotator
    return browser


def keys_of(browser: TestClient) -> dict[str, str]:
    """Return the addresses of what the first page lists, by name."""
    import re

    text = browser.get("/").text
    return {
        name: href for href, name in re.findall(r'href="(/[a-z]+/[^"]+)"[^>]*>([^<]+)</a>', text)
    }
