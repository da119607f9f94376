"""Images in conversations: passed to judges that see, and to nobody else."""

import asyncio
import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from fault_server import serving, verdicts
from heedful import Constraint, Message, Sample, Status, evaluate
from heedful.data.formats import native
from heedful.judges import make_judge, prompts
from heedful.judges.model import Checklist
from heedful.models import OpenAIModel, Sampling, ScriptedModel
from heedful.models.batches.anthropic import AnthropicBatches
from heedful.models.batches.gemini import GeminiBatches

PNG = b"\x89PNG\r\n\x1a\n" + bytes(64)
DATA = f"data:image/png;base64,{b64encode(PNG).decode()}"
WEB = "https://example.org/cat.png"
MET = "<c1>\nIt is there.\nVERDICT: MET\n</c1>"


def sample(*images: str, key: str = "1") -> Sample:
    turn = Message(role="user", content="What is this?", images=images)
    listed = (Constraint(text="It names the animal."),)
    return Sample(id=key, conversation=(turn,), checklist=listed, response="A cat.")


def judged(row: Sample, **options: Any) -> tuple[Any, ScriptedModel]:
    model = ScriptedModel(MET)
    judge = make_judge("checklist", model=model, **options)
    return asyncio.run(judge.judge(row)).judgments[0], model


PARTS = [
    {"type": "image_url", "image_url": {"url": WEB}},
    {"type": "input_image", "image_url": WEB},
    {"type": "image", "source": {"type": "url", "url": WEB}},
    {"type": "image", "url": WEB},
]


@pytest.mark.parametrize("part", PARTS)
def test_parts_of_every_api_are_the_same_turn(part: dict[str, Any]) -> None:
    content = [{"type": "text", "text": "What is this?"}, part]
    record = {"messages": [{"role": "user", "content": content}], "checklist": ["x"]}
    read = native.sample(record, 1)
    assert read.conversation == (Message(role="user", content="What is this?", images=(WEB,)),)
    assert native.sample(json.loads(json.dumps(native.write(read))), 1) == read
    as_prompt = native.sample({"prompt": content, "checklist": ["x"]}, 1)
    assert as_prompt.conversation == read.conversation


def test_a_server_gets_the_images_with_the_prompt() -> None:
    bodies: list[dict[str, Any]] = []

    def script(number: int, body: dict[str, Any]) -> Any:
        bodies.append(body)
        text = [{"content": body["messages"][0]["content"][0]["text"]}]
        return verdicts(number, body | {"messages": text})

    with serving(script=script) as server:
        model = OpenAIModel("m", base_url=server.url, api_key="k")
        done = evaluate([sample(WEB, DATA)], judge=Checklist(model, prompts.make("plain")))
    assert done.summary["verdicts"]["met"] == 1
    text, *images = bodies[0]["messages"][0]["content"]
    assert "IMAGE 2" in text["text"]
    assert [each["image_url"]["url"] for each in images] == [WEB, DATA]


def test_batches_have_images_as_their_providers_do() -> None:
    turns = sample(WEB, DATA).conversation
    for make, want in (
        (AnthropicBatches, ['"type":"url"', '"media_type":"image/png"']),
        (GeminiBatches, ['"fileUri":', '"mimeType":"image/png"']),
    ):
        service = make("m", api_key="k")
        line = service.request("1", turns, Sampling(), 0).decode().replace(": ", ":")
        assert all(each in line for each in [*want, WEB, b64encode(PNG).decode()])


def test_a_model_that_cannot_see_leaves_the_verdict_undecided(tmp_path: Path) -> None:
    class Blind(ScriptedModel):
        sends_parts = False

    model = Blind(MET)
    judge = Checklist(model, prompts.make("plain"))
    done = evaluate([sample(DATA), sample(key="2")], judge=judge, run=tmp_path / "run")
    assert done.summary["verdicts"]["failed"] == 1
    assert done.summary["verdicts"]["met"] == 1
    (reason,) = done.summary["undecided"]
    assert "can't be sent images" in reason["reason"]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("cat.png", "files are read only with --images FOLDER"),
        ("/etc/passwd", "files are read only with --images FOLDER"),
        ("file:///etc/passwd", "isn't one of the web"),
        ("ftp://example.org/cat.png", "isn't one of the web"),
        ("data:text/html;base64,AAAA", "data of another kind"),
        ("data:image/png;base64,AA A", "data of another kind"),
        ("data:image/svg+xml;base64,AAAA", "data of another kind"),
        ("", "files are read only with --images FOLDER"),
    ],
)
def test_what_is_no_image_of_the_web_is_not_passed_on(url: str, said: str) -> None:
    judgment, model = judged(sample(WEB, url))
    assert judgment.status is Status.UNSUPPORTED
    assert said in judgment.explanation
    assert not model.calls


def test_files_are_read_from_the_named_folder_alone(tmp_path: Path) -> None:
    folder = tmp_path / "images"
    folder.mkdir()
    (folder / "cat.png").write_bytes(PNG)
    (tmp_path / "secret.png").write_bytes(PNG)
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "notes.png").write_text("not an image")
    judgment, model = judged(sample("cat.png", WEB), images=folder)
    assert judgment.status is Status.MET
    assert model.calls[0].messages[0].images == (DATA, WEB)
    for path in ("../secret.png", str(tmp_path / "secret.png"), "link.png", "notes.png", "", "a\0"):
        judgment, model = judged(sample(path), images=folder)
        assert judgment.status is Status.UNSUPPORTED, path
        assert not model.calls
