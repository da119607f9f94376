"""Generators and critics whose true accuracy is known, on sums that they are asked."""

import random
import re
from collections.abc import Callable, Mapping, Sequence

from heedful.core.nouns import Message
from heedful.judges.prompts.fence import unfence
from heedful.models import Completion, ScriptedModel, Usage

__all__ = [
    "answers",
    "critic",
    "generator",
    "judgments",
    "question",
    "questions",
    "the_sum",
]

Reply = Callable[[str, int], str]
"""From a prompt and the sample's number to a text."""

_SUM = re.compile(r"What is (\d+) plus (\d+)\?")
_BOX = re.compile(r"\\boxed\{(\d+)\}")


def scripted(name: str, reply: Reply) -> ScriptedModel:
    """Make a model that counts its tokens."""

    def answer(messages: Sequence[Message], sample: int) -> Completion:
        usage = Usage(prompt_tokens=100, completion_tokens=10)
        text = reply(messages[-1].content, sample)
        return Completion(text=text, usage=usage, model=name, finish_reason="stop")

    return ScriptedModel(answer, name=name)


def question(number: int) -> dict[str, str]:
    """A question as GSM8K has them."""
    return {"question": f"What is {number} plus 2?", "answer": f"Count on.\n#### {number + 2}"}


def questions(count: int) -> list[dict[str, str]]:
    return [question(10 * number) for number in range(1, count + 1)]


def the_sum(prompt: str) -> int:
    """The right answer to the last question of a prompt."""
    one, two = _SUM.findall(prompt)[-1]
    return int(one) + int(two)


def answers(name: str, accuracy: Mapping[int, float] | float, *, wrong: float = 0.75) -> Reply:
    """How a generator answers.

    Args:
        name: its name.
        accuracy: how often it is right, by the right answer or throughout.
        wrong: how often its wrong answers are the same, one too many.
    """

    def reply(prompt: str, sample: int) -> str:
        gold = the_sum(prompt)
        chance = random.Random(f"{name} {gold} {sample}")
        right = accuracy if isinstance(accuracy, float) else accuracy[gold]
        off = 0 if chance.random() < right else 1 if chance.random() < wrong else 5
        steps = ["I count on.", "Then I look again."][: chance.randint(1, 2)]
        return "\n".join([*steps, f"The answer is \\boxed{{{gold + off}}}."])

    return reply


def judgments(name: str, accuracy: float) -> Reply:
    """How a critic judges that is right so often, be the response correct or wrong."""

    def reply(prompt: str, sample: int) -> str:
        asked, response = (fenced.text for fenced in unfence(prompt))
        right = _BOX.findall(response)[-1] == str(the_sum(asked))
        told = right == (random.Random(f"{name} {asked} {response} {sample}").random() < accuracy)
        return f"I add the numbers.\nJudgment: {'correct' if told else 'incorrect'}"

    return reply


def generator(
    name: str, accuracy: Mapping[int, float] | float, *, wrong: float = 0.75
) -> ScriptedModel:
    return scripted(name, answers(name, accuracy, wrong=wrong))


def critic(name: str, accuracy: float) -> ScriptedModel:
    return scripted(name, judgments(name, accuracy))
