"""MLflow and Weights & Biases: log an evaluation's rates, coverage and verdicts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heedful import Evaluation


def numbers(evaluation: Evaluation) -> dict[str, float]:
    """Return what trackers plot; a rate that is a range is logged as its two ends."""
    logged: dict[str, float] = {}
    for name, rate in evaluation.rates().items():
        key = re.sub(r"\W+", "_", name)  # MLflow takes no comma
        if rate["value"] is not None:
            logged[key] = rate["value"]
        elif rate["bounds"] is not None:
            logged[f"{key}_low"], logged[f"{key}_high"] = rate["bounds"]
    if evaluation.summary["coverage"] is not None:
        logged["coverage"] = evaluation.summary["coverage"]
    return logged


def log_to_mlflow(evaluation: Evaluation) -> None:
    """Log into the active run of MLflow: metrics, the judge, and a table of the verdicts."""
    import mlflow

    mlflow.log_metrics(numbers(evaluation))
    mlflow.log_params({name: evaluation.summary[name] for name in ("judge", "scoring")})
    columns: dict[str, list[Any]] = {}
    for row in evaluation.table():
        for name, value in row.items():
            columns.setdefault(name, []).append(value)
    if columns:
        mlflow.log_table(columns, "heedful_verdicts.json")


def log_to_wandb(evaluation: Evaluation) -> None:
    """Log into the active run of Weights & Biases: metrics, the judge, a table of the verdicts."""
    import wandb

    rows = list(evaluation.table())
    logged: dict[str, Any] = {
        f"heedful/{name}": value for name, value in numbers(evaluation).items()
    }
    if rows:
        columns = list(rows[0])
        data = [[row[name] for name in columns] for row in rows]
        logged["heedful/verdicts"] = wandb.Table(columns=columns, data=data)
    wandb.log(logged)
    wandb.config.update({name: evaluation.summary[name] for name in ("judge", "scoring")})
