r"""Decide constraints by code: the verifiers, looked up by id.

>>> from heedful.core.nouns import Check
>>> from heedful.verify import Readings, describe
>>> limit = Check(
...     id="length_constraints:number_words", args={"num_words": 3, "relation": "less than"}
... )
>>> describe(limit)
'Write less than 3 words.'
>>> Readings("Here it is:\nOne two.").read(limit)
StrictAndLoose(strict=Finding(met=False, found='5 words, asked for less than 3'), loose=True)

Third parties add verifiers of their own with :func:`verifier`, either in their own script or in a
package whose entry-point group ``heedful.verifiers`` names the module that holds them.
"""

from __future__ import annotations

from heedful.core.errors import UndecidedError, VerifierError
from heedful.verify.base import (
    Finding,
    Readings,
    Relation,
    StrictAndLoose,
    amount,
    check,
    compare,
    describe,
    known,
    verifier,
)
from heedful.verify.text.prepared import Response
from heedful.verify.text.sentences import sentence_rules
from heedful.verify.text.words import count_words

__all__ = [
    "Finding",
    "Readings",
    "Relation",
    "Response",
    "StrictAndLoose",
    "UndecidedError",
    "VerifierError",
    "amount",
    "check",
    "compare",
    "count_words",
    "describe",
    "known",
    "sentence_rules",
    "verifier",
]
