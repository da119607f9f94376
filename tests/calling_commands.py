"""Commands that call models: their words and inputs, and a model that answers each well."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from critic_population import answers, judgments, questions
from fault_server import Answer, completion, verdicts
from heedful import Sample, evaluate
from heedful.core.nouns import Recording
from planted import Population

ROWS = 6
PEOPLE = Population()


@dataclass(frozen=True)
class Command:
    """A command that calls models.

    Attributes:
        words: its words, but for the address.
        answer: how a model answers that is well, from a request's body.
        result: its file with a line for each row; none where the command writes no rows.
        before: the commands whose results it reads.
        draws: whether several samples of one prompt are answered alike, so that which is which
            depends on the order.
        repeats: whether it is no run, so that a second one asks again.
        incomplete: its exit code where some calls failed; judges leave these verdicts undecided.
    """

    words: str
    answer: Callable[[dict[str, Any]], Answer]
    result: str = "r/results.jsonl"
    before: Sequence[str] = ()
    draws: bool = False
    repeats: bool = False
    incomplete: int = 1


def asked(body: dict[str, Any]) -> str:
    return str(body["messages"][-1]["content"])


def planted(body: dict[str, Any]) -> Answer:
    return completion(PEOPLE.answer(body["model"], asked(body), body.get("seed") or 0))


def judging(body: dict[str, Any]) -> Answer:
    return verdicts(0, body)


def likely(_: dict[str, Any]) -> Answer:
    answer = completion("Yes")
    tokens = [{"token": "Yes", "logprob": -0.1}, {"token": "No", "logprob": -2.5}]
    answer.body["choices"][0]["logprobs"] = {"content": [{"top_logprobs": tokens}]}
    return answer


def decomposing(_: dict[str, Any]) -> Answer:
    return completion("<c1>\nTYPE: content\nPRIORITY: primary\nTEXT: Keep a calm tone\n</c1>")


def generating(body: dict[str, Any]) -> Answer:
    prompt = asked(body)
    replies = (answers, 0.5) if "Judgment:" not in prompt else (judgments, 0.7)
    # The same prompt again is the next sample; it is answered alike but for the model.
    return completion(replies[0](body["model"], replies[1])(prompt, len(body["model"])))


def correcting(body: dict[str, Any]) -> Answer:
    number = int(asked_first(body).partition("What is ")[2].split(" + 1")[0])
    box = f"\\boxed{{{number + 1}}}"
    if "You are checking" not in asked_first(body):
        return completion(f"It is {box}" if body["model"] == "toy" or number % 3 else "\\boxed{0}")
    text = f"## Critique\nSeen.\n## Conclusion\nThe solution is Incorrect.\n## Correction\n{box}"
    return completion(text)


def asked_first(body: dict[str, Any]) -> str:
    return str(body["messages"][0]["content"])


TOY = "-m toy"
COMMANDS = {
    "evaluate": Command(
        f"evaluate in.jsonl --judge checklist {TOY} --run r", judging, incomplete=0
    ),
    "evaluate, a call each": Command(
        f"evaluate in.jsonl --judge checklist {TOY} --per-call 1 --prompt structured --run r",
        lambda _: completion(
            json.dumps({"judgments": [{"constraint": 1, "explanation": "So.", "verdict": "met"}]})
        ),
        incomplete=0,
    ),
    "evaluate, a panel": Command(
        f"evaluate in.jsonl --judge checklist {TOY} -m twin -m third --run r", judging, incomplete=0
    ),
    "evaluate, likelihood": Command(
        f"evaluate in.jsonl --judge likelihood {TOY} --run r", likely, incomplete=0
    ),
    "rejudge": Command(f"rejudge coded --judge checklist {TOY} --run r", judging, incomplete=0),
    "judge-accuracy": Command(
        f"judge-accuracy labelled.jsonl --judge checklist {TOY} --folder f -o m.json",
        judging,
        "f/*/results.jsonl",
        incomplete=0,
    ),
    "respond": Command(
        f"respond prompts.jsonl {TOY} -o out.jsonl --run r",
        lambda body: completion(f"An answer to {asked(body)[:40]}"),
        "out.jsonl",
    ),
    "checklist": Command(
        f"checklist prompts.jsonl {TOY} -o out.jsonl --run r", decomposing, "out.jsonl"
    ),
    "critic sample": Command(
        "critic sample in.jsonl -m expert --seed 0 -o critiques.jsonl --run s",
        planted,
        "critiques.jsonl",
    ),
    "critic filter": Command(
        "critic filter critiques.jsonl -m expert --verifier a --verifier b -o out.jsonl --run r",
        planted,
        "r/*d.jsonl",
        before=("critic sample",),
    ),
    "criticbench build": Command(
        "bench criticbench build sums.jsonl -m small -m large --samples 3 --run bench",
        generating,
        "bench/samples.jsonl",
        draws=True,
    ),
    "criticbench run": Command(
        "bench criticbench run triplets.jsonl -m small -m large --repeats 2 --run r", generating
    ),
    "realcritic build": Command(
        "bench realcritic build solved.jsonl -m toy -m small -o sets --run r", correcting, ""
    ),
    "realcritic run": Command("bench realcritic run solved.jsonl -m toy --run r", correcting),
}


def write_inputs(count: int = ROWS) -> None:
    """Write what the commands read into the current folder."""
    samples = PEOPLE.samples(count)
    write("in.jsonl", [plain(one) for one in samples])
    write(
        "prompts.jsonl", [{"id": one.id, "prompt": one.conversation[0].content} for one in samples]
    )
    write("sums.jsonl", questions(count))
    solved = ({"question": f"What is {n} + 1?", "gt": str(n + 1)} for n in range(count))
    write("solved.jsonl", [{**row, "reasoning": f"\\boxed{{{n}}}"} for n, row in enumerate(solved)])
    triplet = {"question": "What is 1 plus 2?", "response": r"\boxed{3}", "correct": True}
    wrong = {**triplet, "id": "4", "response": r"\boxed{4}", "correct": False}
    write("triplets.jsonl", [{"id": "3", **triplet}, wrong])
    evaluate("in.jsonl", judge="compiled", run="coded")
    for name in "ab":
        write("labelled.jsonl", [recorded(one, name) for one in samples])
        evaluate("labelled.jsonl", judge="recorded", run=name)


def write(name: str, rows: list[Any]) -> None:
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def recorded(sample: Sample, name: str) -> dict[str, Any]:
    """Make a labelled row with verdicts."""
    constraints = range(len(sample.checklist))
    judged = tuple({"status": "met", "explanation": f"So says {name}."} for _ in constraints)
    recording = Recording(prompt="native", verdicts=judged)
    labels = tuple(at > 0 for at in constraints)
    return plain(sample.model_copy(update={"recording": recording, "labels": labels}))


def plain(sample: Sample) -> dict[str, Any]:
    row: dict[str, Any] = json.loads(sample.model_dump_json(exclude_defaults=True))
    return row
