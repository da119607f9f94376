"""Whatever a batch endpoint sends is an answer, a fault, or nothing; it is never a crash."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.models import Completion, OpenAIModel
from heedful.models.batches.anthropic import AnthropicBatches
from heedful.models.batches.base import BatchStatus, Connection
from heedful.models.batches.gemini import GeminiBatches
from heedful.models.batches.openai import OpenAIBatches
from heedful.models.faults import Fault, FaultError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

NAMES = """
id status data metadata custom_id result type message content text usage error errors code response
body status_code choices candidates parts key state done name operations heedful output_file_id
error_file_id request_counts succeeded processing_status created_at inlinedResponses responsesFile
promptTokenCount finishReason displayName nextPageToken input_tokens stop_reason batchStats has_more
completed
"""
KEYS = st.sampled_from(NAMES.split())
STATES = (
    "ended completed succeeded errored failed BATCH_STATE_SUCCEEDED BATCH_STATE_FAILED STOP SAFETY"
)
WORDS = st.sampled_from([*STATES.split(), "", "tag", "tag-0", "../../x", "a/b", "x" * 5000, "é"])
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), WORDS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=5)),
    max_leaves=12,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=6)


def services() -> list[Any]:
    model = OpenAIModel("m", base_url="http://127.0.0.1:9/v1", api_key="k")
    made = [AnthropicBatches("m", api_key="k"), GeminiBatches("m", api_key="k")]
    return [OpenAIBatches(model), *made]


async def use(service: Any) -> None:
    for call in (service.status("b"), service.find("tag", 1, 0.0, set())):
        try:
            value = await call
        except FaultError:
            continue
        assert value is None or isinstance(value, str | BatchStatus)
        assert not isinstance(value, str) or ".." not in value
    try:
        async for number, answer in service.answers("b"):
            assert isinstance(number, str)
            assert isinstance(answer, Completion | Fault)
            if isinstance(answer, Completion):
                assert min(answer.usage.model_dump().values()) >= 0
                answer.model_dump_json()
    except FaultError:
        pass


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(told=st.lists(OBJECTS, min_size=1, max_size=3), lines=st.lists(OBJECTS, max_size=3))
def test_hostile_answers_are_read_or_refused(
    told: list[dict[str, Any]], lines: list[dict[str, Any]]
) -> None:
    async def get(self: Connection, path: str) -> dict[str, Any]:
        del self, path
        value: dict[str, Any] = json.loads(json.dumps(told[0]))
        return value

    async def read(self: Connection, path: str) -> AsyncIterator[dict[str, Any]]:
        del self, path
        for line in lines:
            yield line

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Connection, "get", get)
        patch.setattr(Connection, "lines", read)
        for service in services():
            asyncio.run(use(service))
