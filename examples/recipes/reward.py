"""The reward function that verl loads: a critic on a server of its own.

The critic's address and name come from CRITIC_URL and CRITIC.
"""

from __future__ import annotations

import os

from heedful.judges import prompts
from heedful.judges.model import Checklist
from heedful.models import OpenAIModel
from heedful.rewards import Reward, for_verl

MODEL = OpenAIModel(
    os.environ.get("CRITIC", "critic"),
    base_url=os.environ.get("CRITIC_URL", "http://127.0.0.1:8000/v1"),
)
REWARD = Reward(Checklist(MODEL, prompts.make("plain")), undecided=0.0)

compute_score = for_verl(REWARD)
