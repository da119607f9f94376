"""heedful: from opening the file to the summary and the results file of a run."""

from __future__ import annotations

from common import Stopwatch, arguments

from heedful import evaluate
from heedful.judges import prompts
from heedful.judges.model import Checklist
from heedful.models import OpenAIModel
from heedful.models.limiter import AdaptiveLimiter


def main() -> None:
    """Judge."""
    path, url, in_flight = arguments()
    watch = Stopwatch()
    limiter = AdaptiveLimiter(in_flight)
    model = OpenAIModel("bench", base_url=url, api_key="none", limiter=limiter)
    judge = Checklist(model, prompts.make("plain"))
    summary = evaluate(path, judge=judge, run="run", concurrency=in_flight).summary
    watch.report(summary["verdicts"]["met"])


if __name__ == "__main__":
    main()
