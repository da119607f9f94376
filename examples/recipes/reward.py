"""The reward of all recipes: a critic on a server of its own, watched by a second judge.

CRITIC and CRITIC_URL name the critic, SECOND and SECOND_URL another model. Without one the critic
itself is asked again about one constraint at a time, which sees less. An alarm is logged, and is
``alarm`` among the numbers of each response.
"""

from __future__ import annotations

import os

from heedful.judges import prompts
from heedful.judges.model import Checklist
from heedful.models import OpenAIModel
from heedful.rewards import Divergence, Reward, for_rows, for_verl

NAME = os.environ.get("CRITIC", "critic")
URL = os.environ.get("CRITIC_URL", "http://127.0.0.1:8000/v1")
SECOND = os.environ.get("SECOND")

CRITIC = Checklist(OpenAIModel(NAME, base_url=URL), prompts.make("plain"))
OTHER = Checklist(
    OpenAIModel(SECOND or NAME, base_url=os.environ.get("SECOND_URL", URL)),
    prompts.make("plain"),
    per_call=None if SECOND else 1,
)
REWARD = Reward(CRITIC, guards=True, undecided=0.0)
ALARM = Divergence(Reward(OTHER))

score = for_rows(REWARD, divergence=ALARM)
"""Awaited by the other recipes: ``await score(label, response, prompt=…)``."""

compute_score = for_verl(REWARD, divergence=ALARM)
