"""Log-probabilities against votes, of one small critic: accuracy, calibration and what they cost.

    python benchmarks/likelihood_votes.py -o WORK    # a folder that benchmarks/real_critic.py made

The critic is WORK/critic.gguf (float16, made of WORK/critic by llama.cpp's convert_hf_to_gguf.py),
which llama.cpp serves with one thread; the model that it
was trained from runs in this process. Every judge sees the test with types of constraints that were
never trained on. Where probabilities are calibrated, the scale and offset of one half of the rows
are fitted on the other (Platt).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import re
import sys
import urllib.request
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import numpy as np
from scipy.optimize import minimize  # type: ignore[import-untyped]

from heedful import evaluate
from heedful.metrics.calibration import calibration
from heedful.models import Completion, Sampling, Usage
from llama_server import NAME, serving_smollm2

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from heedful.core.nouns import Message

VOTES = 5
SAMPLES = 2000
"""Of the bootstrap over rows."""
CONCURRENCY = 6
EVEN = 0.5
_VERDICT = re.compile(r"<c(\d+)>(?:(?!<c\d)[\s\S])*?VERDICT:\s*$")

Key = tuple[int, int]
"""Which row, and which of its constraints."""


class WithVerdictTokens:
    """The served critic, asked greedily; it keeps how likely each verdict's first token was.

    Attributes:
        odds: by the reply's text, by the number of the constraint: log-odds of MET.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.name = "critic"
        self.config = {"model": "critic", "odds": True}
        self.odds: dict[str, dict[int, float]] = {}

    async def generate(
        self,
        messages: Sequence[Message],
        sampling: Sampling,
        *,
        sample: int = 0,  # noqa: ARG002 - greedy
    ) -> Completion:
        """Generate a reply with the probabilities of all of its tokens."""
        turns = [{"role": turn.role, "content": turn.content} for turn in messages]
        body = {"model": NAME, "messages": turns, "temperature": 0, "logprobs": True}
        body |= {"top_logprobs": 20, "max_tokens": sampling.max_tokens}
        request = urllib.request.Request(  # noqa: S310 - the server that was started here
            f"{self.url}/chat/completions",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        opened = await asyncio.to_thread(urllib.request.urlopen, request)
        with opened:
            reply = json.loads(opened.read())
        choice, usage = reply["choices"][0], reply["usage"]
        text = choice["message"]["content"]
        self.odds[text] = verdict_odds(choice["logprobs"]["content"])
        counts = Usage(
            prompt_tokens=usage["prompt_tokens"], completion_tokens=usage["completion_tokens"]
        )
        return Completion(text=text, finish_reason=choice["finish_reason"], usage=counts)

    async def close(self) -> None:
        """Nothing is left open."""


def verdict_odds(tokens: Sequence[Mapping[str, Any]]) -> dict[int, float]:
    """Read the log-odds of MET where each verdict begins, by the number of its constraint."""
    found: dict[int, float] = {}
    text = ""
    for token in tokens:
        place = _VERDICT.search(text)
        if place and token["token"].strip() and int(place[1]) not in found:
            chances = [1e-9, 1e-9]
            for other in token["top_logprobs"]:
                word = other["token"].strip().upper()
                if word and ("MET".startswith(word) or "UNMET".startswith(word)):
                    chances["UNMET".startswith(word)] += math.exp(other["logprob"])
            found[int(place[1])] = math.log(chances[0] / chances[1])
        text += token["token"]
    return found


@dataclass
class Judged:
    """The verdicts of one judge.

    Attributes:
        odds: of what it decided, the log-odds of *met*.
        cost: calls and tokens.
    """

    odds: dict[Key, float] = field(default_factory=dict)
    cost: dict[str, int] = field(default_factory=dict)


def main() -> None:
    """Judge and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True)
    work: Path = parser.parse_args().output
    rows = [json.loads(line) for line in (work / "unseen.jsonl").read_text("utf-8").splitlines()]
    rows = [row | {"id": f"{number}"} for number, row in enumerate(rows)]
    labels = {
        (at, place): met for at, row in enumerate(rows) for place, met in enumerate(row["labels"])
    }
    judges: dict[str, Judged] = {}
    file = work / "critic.gguf"
    if not file.exists():
        hint = f"python convert_hf_to_gguf.py {work / 'critic'} --outfile {file} --outtype f16"
        raise SystemExit(f"there is no {file}: {hint}")
    with serving_smollm2(work / "critic.log", CONCURRENCY, file) as url:
        judges |= critic_judges(rows, url, work / "votes")
    # The trained critic answers neither yes nor no.
    how = {"judge": "likelihood", "model": str(work / "base")}
    judges["untrained, `--judge likelihood`"] = by_probability(
        run(rows, "", work / "votes" / "untrained", **how)
    )
    print("\n".join(table(judges, labels)))


def run(rows: Sequence[Any], url: str, folder: Path | None, **how: Any) -> Any:
    """Judge all rows."""
    if "model" not in how:
        how |= {"model": NAME, "base_url": url}
    return evaluate(rows, run=folder, max_concurrency=CONCURRENCY, **how)


def critic_judges(rows: Sequence[Any], url: str, folder: Path) -> dict[str, Judged]:
    """Judge with the critic's own prompt: votes, and one greedy critique with its probabilities."""
    asked = {"judge": "checklist", "prompt": "short", "measure": True, "reasks": 0}
    limit = {"max_completion_tokens": 400}
    votes = run(rows, url, folder / "samples", **asked, **limit, votes=VOTES, temperature=1.0)
    model = WithVerdictTokens(url)
    greedy = run(rows, url, None, **asked, **limit, model=model)  # what is stored has no odds
    judges = {"one greedy critique": Judged(cost=cost(greedy))}
    judges["the same, by its verdicts' tokens"] = Judged(cost=cost(greedy))
    for at, row in enumerate(greedy):
        odds = model.odds.get(row.critique.text or "", {})
        for place, judgment in enumerate(row.critique.judgments):
            if judgment.status.decided:
                met = judgment.status.value == "met"
                judges["one greedy critique"].odds[at, place] = math.inf if met else -math.inf
                if place + 1 in odds:
                    judges["the same, by its verdicts' tokens"].odds[at, place] = odds[place + 1]
    for size in (3, VOTES):
        judges[f"`--votes {size}`"] = by_votes(votes, size)
    return judges


def by_probability(evaluation: Any) -> Judged:
    """Read the probabilities of the likelihood judge."""
    judged = Judged(cost=cost(evaluation))
    for at, row in enumerate(evaluation):
        for place, judgment in enumerate(row.critique.judgments):
            if judgment.status.decided:
                sure = min(judgment.confidence, 1 - 1e-12)
                odds = math.log(sure / (1 - sure))
                judged.odds[at, place] = odds if judgment.status.value == "met" else -odds
    return judged


def by_votes(evaluation: Any, size: int) -> Judged:
    """Take the first samples as the votes; a tie is undecided."""
    total = cost(evaluation)
    judged = Judged(cost={name: value * size // VOTES for name, value in total.items()})
    for at, row in enumerate(evaluation):
        for place, judgment in enumerate(row.critique.judgments):
            cast = [vote["status"] for vote in judgment.votes[:size]]
            met, unmet = cast.count("met"), cast.count("unmet")
            if met != unmet:
                judged.odds[at, place] = math.log(met or 1e-9) - math.log(unmet or 1e-9)
    return judged


def cost(evaluation: Any) -> dict[str, int]:
    """Return calls and tokens."""
    names = ("calls", "prompt_tokens", "completion_tokens")
    return {name: evaluation.summary["cost"][name] for name in names}


def table(judges: Mapping[str, Judged], labels: Mapping[Key, bool]) -> list[str]:
    """Lay out the judges on the verdicts that all of them decide."""
    common = sorted(set(labels).intersection(*(judged.odds for judged in judges.values())))
    truth = np.array([labels[key] for key in common])
    groups = np.array([key[0] for key in common])
    lines = [
        f"{len(common)} of {len(labels)} verdicts are decided by all, in {len(set(groups))} rows.",
        "",
        "| judge | decided | mean F1 | AUROC | Brier | ECE | calibrated | calls | tokens in, out |",
        "| --- " + "| ---: " * 8 + "|",
    ]
    for name, judged in judges.items():
        odds = np.array([judged.odds[key] for key in common])
        chance = 1 / (1 + np.exp(-odds))
        cells = [
            f"{len(judged.odds) / len(labels):.1%}",
            interval(partial(mean_f1, chance > EVEN, truth), groups),
            interval(partial(auroc, chance, truth), groups),
            *errors(chance, truth, groups),
        ]
        fitted = calibrated(chance, truth, groups)
        cells.append("–" if fitted is None else ", ".join(errors(fitted, truth, groups)))
        used = judged.cost
        cells.append(f"{used['calls']:,}")
        cells.append(f"{used['prompt_tokens']:,}, {used['completion_tokens']:,}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def errors(chance: Any, truth: Any, groups: Any) -> list[str]:
    """Return Brier's score with its interval, and the calibration error with that of chance."""
    clusters: dict[int, dict[tuple[float, bool], int]] = {}
    for p, met, group in zip(chance.tolist(), truth.tolist(), groups.tolist(), strict=True):
        counts = clusters.setdefault(group, {})
        verdict = (max(p, 1 - p), met == (p > EVEN))
        counts[verdict] = counts.get(verdict, 0) + 1
    result = calibration(clusters.values())
    if result is None:
        raise SystemExit("no verdict is decided by all")
    low, high = result["brier"]["interval"] or (math.nan, math.nan)
    brier = f"{result['brier']['value']:.3f} ({low:.3f} to {high:.3f})"
    return [brier, f"{result['ece']['value']:.3f} ({result['ece']['by_chance']:.3f})"]


def calibrated(chance: Any, truth: Any, groups: Any) -> Any:
    """Fit on one half of the rows and apply to the other, both ways; None where it can't be."""
    odds = np.log(np.clip(chance, 0.01, None) / np.clip(1 - chance, 0.01, None))
    fitted = np.empty_like(odds)
    for half in (0, 1):
        other = groups % 2 != half
        said, known = odds[other], truth[other]
        if np.ptp(known.astype(int)) == 0 or np.ptp(said) == 0:
            return None

        def loss(fit: Any, said: Any = said, known: Any = known) -> float:
            fitted = fit[0] * said + fit[1]
            return float((np.logaddexp(0, fitted) - known * fitted).sum())

        scale, offset = minimize(loss, np.zeros(2)).x
        if scale <= 0:
            return None
        fitted[~other] = 1 / (1 + np.exp(-(scale * odds[~other] + offset)))
    return fitted


def mean_f1(said: Any, truth: Any, rows: Any) -> float:
    """Return the mean of the F1 of both classes."""
    said, truth = said[rows], truth[rows]
    both = [(said & truth).sum(), (~said & ~truth).sum()]
    wrong = (said != truth).sum()
    return float(np.mean([2 * right / max(2 * right + wrong, 1) for right in both]))


def auroc(chance: Any, truth: Any, rows: Any) -> float:
    """Return how often a met constraint has a higher probability than an unmet one."""
    chance, truth = chance[rows], truth[rows]
    if truth.all() or not truth.any():
        return math.nan
    met, unmet = chance[truth, None], chance[~truth]
    return float(((met > unmet) + 0.5 * (met == unmet)).mean())


def interval(statistic: Callable[[Any], float], groups: Any) -> str:
    """Write a statistic with the percentiles of a bootstrap over rows."""
    random = np.random.default_rng(0)
    members = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    drawn = [
        statistic(
            np.concatenate([members[at] for at in random.integers(len(members), size=len(members))])
        )
        for _ in range(SAMPLES)
    ]
    low, high = np.nanpercentile(drawn, [2.5, 97.5])
    return f"{statistic(np.arange(len(groups))):.3f} ({low:.3f} to {high:.3f})"


if __name__ == "__main__":
    main()
