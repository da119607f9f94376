"""A model proposes a check for a text, code disposes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from heedful.core.errors import InputError, ModelError, UndecidedError, VerifierError
from heedful.engine.call_cache import attempt, attempts
from heedful.engine.purpose import Purpose
from heedful.jobs.checklists import proposals
from heedful.jobs.checklists.grounding import difference
from heedful.judges.prompts.base import CUT_OFF
from heedful.models.base import Sampling
from heedful.verify import Response
from heedful.verify.base import check as run_check
from heedful.verify.base import describe

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from heedful.core.nouns import Check, Expense, Message
    from heedful.models.base import Model

PROPOSAL_TOKENS = 40
EXAMPLE_TOKENS = 600
"""Tokens of a proposal, and of four examples, roughly."""

Reason = Literal[
    "no_proposal", "unreadable", "unknown_check", "arguments", "words", "implication", "examples"
]
"""Reason of a refusal: the model proposed no check; a reply could not be read; no such verifier may
be proposed; the arguments don't fit it; text and check don't account for each other's words; they
don't imply each other; or the check judges an example otherwise than the model."""


class ProposalError(Exception):
    """A proposal is refused.

    Attributes:
        reason: of the refusal.
        detail: in words.
    """

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason: Reason = reason
        self.detail = detail


@dataclass(slots=True)
class Proposal:
    """Result of the requests for one text.

    Attributes:
        text: of the constraint.
        check: accepted; ``None`` where there is none.
        provenance: of the check: who proposed it, its words, the examples.
        reason: of the refusal, where there is no check.
        detail: the same in words.
        problem: why nothing came of it, where a call failed for good.
        expenses: usage of the calls.
    """

    text: str
    check: Check | None = None
    provenance: dict[str, Any] = field(default_factory=dict)
    reason: Reason | None = None
    detail: str = ""
    problem: str | None = None
    expenses: list[Expense] = field(default_factory=list)


class Proposer:
    """Requests checks from a model and accepts those that code and further requests confirm.

    A check is accepted only if

    1. a verifier that may be proposed has its id, and its arguments fit;
    2. its arguments and the words of the text account for each other
       (:func:`heedful.jobs.checklists.grounding.difference`), without a model;
    3. the check in canonical words and the text imply each other, in a request that shows nothing
       else;
    4. it judges examples as meant, which the model writes by the text alone.
    """

    def __init__(self, model: Model, sampling: Sampling | None = None) -> None:
        """Make the proposer."""
        self.model = model
        json_reply = {"response_format": {"type": "json_object"}}
        self.sampling = (sampling or Sampling()).model_copy(update=json_reply)

    @property
    def config(self) -> Mapping[str, Any]:
        """The model, the prompts with their version, and the sampling."""
        return {
            "model": dict(self.model.config),
            "prompts": proposals.prompts_version(),
            "sampling": self.sampling.model_dump(mode="json", exclude_defaults=True),
        }

    async def propose(self, text: str) -> Proposal:
        """Request the check of a text.

        A call that fails for good is the proposal's problem.
        """
        proposal = Proposal(text)
        try:
            check = await self._proposed(proposal)
            words = describe(check)
            await self._compare(proposal, words)
            meet, violate = await self._examples(proposal, check)
        except ProposalError as refusal:
            proposal.reason, proposal.detail = refusal.reason, refusal.detail
        except ModelError as error:  # what was paid before it counts all the same
            proposal.problem = str(error)
        else:
            proposal.check = check
            proposal.provenance = {
                "by": self.model.name,
                "words": words,
                "meet": meet,
                "violate": violate,
            }
        return proposal

    async def _proposed(self, proposal: Proposal) -> Check:
        value = await self._request(
            proposal,
            proposals.proposal_request(proposal.text),
            proposals.read_proposal,
            PROPOSAL_TOKENS,
        )
        if value is None:
            raise ProposalError("no_proposal", "the model proposes no check")
        try:
            check = proposals.proposed_check(value)
        except InputError as error:
            raise ProposalError("unknown_check", error.what) from error
        try:
            describe(check)
            run_check(check, Response("."))
        except UndecidedError:
            pass
        except VerifierError as error:
            raise ProposalError("arguments", error.what) from error
        unlike = difference(proposal.text, check)
        if unlike is not None:
            raise ProposalError("words", unlike)
        return check

    async def _compare(self, proposal: Proposal, words: str) -> None:
        same = await self._request(
            proposal,
            proposals.implication_request(proposal.text, words),
            proposals.read_implication,
            PROPOSAL_TOKENS,
        )
        if not same:
            raise ProposalError("implication", f"not the same as: {words}")

    async def _examples(
        self, proposal: Proposal, check: Check
    ) -> tuple[Sequence[str], Sequence[str]]:
        meet, violate = await self._request(
            proposal,
            proposals.examples_request(proposal.text),
            proposals.read_examples,
            EXAMPLE_TOKENS,
        )
        for texts, meant in ((meet, True), (violate, False)):
            for text in texts:
                try:
                    finding = run_check(check, Response(text))
                except VerifierError as error:
                    raise ProposalError("examples", error.what) from error
                if finding.met is not meant:
                    word = "meets" if meant else "violates"
                    detail = f"of a text that {word} the constraint: {finding.found}"
                    raise ProposalError("examples", detail)
        return meet, violate

    async def _request(
        self,
        proposal: Proposal,
        messages: Sequence[Message],
        read: Callable[[str], Any],
        tokens: int,
    ) -> Any:
        """Request and read one reply; one that cannot be read is requested once more."""
        reason = ""
        purpose = Purpose(self.model.name, tokens=tokens)
        for number in attempts():
            completion = await attempt(
                number, self.model, messages, self.sampling, purpose, proposal.expenses
            )
            try:
                if not completion.cut_off:
                    return read(completion.text)
                reason = CUT_OFF
            except InputError as error:
                reason = error.what
        raise ProposalError("unreadable", reason)
