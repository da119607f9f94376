"""Reasoning that a chat template opened, in a response."""

from __future__ import annotations

import json

from fault_server import completion
from heedful.models.replies import read_completion, without_thinking


def test_a_response_has_no_reasoning_that_the_template_opened() -> None:
    body = completion("why\n</think>\n\nyes").body
    thought = without_thinking(read_completion(json.dumps(body).encode()))
    assert (thought.text, thought.reasoning) == ("yes", "why")
    body = completion("a\n</think>\nb", reasoning_content="why").body
    assert without_thinking(read_completion(json.dumps(body).encode())).text == "a\n</think>\nb"
