"""Rewards: a critique becomes a number to train on, and judged responses become policy data."""

from __future__ import annotations

from heedful.rewards.adapters import for_openrlhf, for_rows, for_verifiers, for_verl
from heedful.rewards.divergence import Divergence
from heedful.rewards.reward import Reward
from heedful.rewards.terms import AGGREGATES, Aggregate, LengthPenalty, Rewarded, Terms
from heedful.rewards.trl_functions import critic_rows, for_trl, for_trl_critic, trl_rewards

__all__ = [
    "AGGREGATES",
    "Aggregate",
    "Divergence",
    "LengthPenalty",
    "Reward",
    "Rewarded",
    "Terms",
    "critic_rows",
    "for_openrlhf",
    "for_rows",
    "for_trl",
    "for_trl_critic",
    "for_verifiers",
    "for_verl",
    "trl_rewards",
]
