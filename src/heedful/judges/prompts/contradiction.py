"""Explanations that end in the opposite of their verdict."""

from __future__ import annotations

import re

from heedful.core.nouns import Status

_END = re.compile(r"[.!?](?=[\s\"'”’*)]|$)|[。！？\n]")

# It must be said of a constraint: "no line fails to rhyme" isn't a verdict.
_THING = r"(?:constraint|requirement|criteri(?:on|a)|condition|instruction|rubric)s?\b"
_THING_ZH = r"(?:要求|约束|条件|标准|指令|限制)"
_VERB = r"(?:meet|satisfy|fulfill?|follow|comply with|adhere to)"
_VERBS = r"(?:meets|satisfies|fulfill?s|follows|complies with|adheres to)"
_DONE = r"(?:met|satisfied|fulfill?ed|followed)"
_VERB_ZH = r"(?:满足|符合|达到|遵守|遵循)"
_NOT = r"(?:\bnot|n't|\bnever|\bcannot)"
_NOT_ZH = r"(?:不|未|没有?|无法)(?:\w{0,2}完[全整]|能|能够|严格|被|得到)*"

_UNMET = re.compile(
    rf"\b{_THING}[^,;]{{0,40}}(?:{_NOT} (?:\w+ )?{_DONE}|\bun(?:met|satisfied|fulfilled))\b"
    rf"|{_NOT} (?:\w+ )?{_VERB} [^,;]{{0,30}}\b{_THING}"
    rf"|\b(?:violat(?:es|ed|ing)|fail(?:s|ed)? (?:to {_VERB} )?)[^,;]{{0,30}}\b{_THING}"
    r"|\bverdict (?:should|must) be (?:unmet|not met)\b"
    rf"|{_NOT_ZH}{_VERB_ZH}[^，,；;]{{0,12}}{_THING_ZH}|违反了?[^，,；;]{{0,12}}{_THING_ZH}"
    rf"|{_THING_ZH}{_NOT_ZH}{_VERB_ZH}"
)
_MET = re.compile(
    rf"\b{_THING} (?:is|are|was|were|has been|have been) (?:\w+ )?{_DONE}\b"
    rf"|\b{_VERBS} [^,;]{{0,30}}\b{_THING}"
    rf"|{_VERB_ZH}[^，,；;]{{0,12}}{_THING_ZH}|{_THING_ZH}(?:已|都|均|得到|被)+{_VERB_ZH}"
)
# Without one of these nothing above is found; most explanations end without.
# No character class: an expression that begins with one of some letters is searched twice as fast.
_MAY_DENY = re.compile(r"not|n't|never|un(?:met|satisf|fulfil)|violat|fail|不|未|没|无|违")
_MAY_AFFIRM = re.compile(r"met|meets|satisf|fulfil|follow|compl|adher|满足|符合|达到|遵[守循]")
_LONGEST = 300
"""Characters of a sentence that are read; bounds the time that a hostile one can take."""
_AFTER = " \t\r\n\"'”’*).!?。！？"
"""Characters that may follow the last word of the last sentence."""
# A sentence with these weighs one thing against another, or leaves it open.
_HEDGED = re.compile(
    r"\b(?:but|although|though|however|while|whether|if|unless|except)\b"
    r"|但|虽然|尽管|然而|是否|如果|假如|除了|除非"
)
_DENIES = re.compile(r"\b(?:no|not|never|cannot|fail\w*|violat\w*|un\w+)\b|n't|[不未没无缺超]|违反")


def contradicts(explanation: str, status: Status) -> bool:
    """Tell whether the last sentence of an explanation plainly states the opposite verdict.

    Plainly: it says of a constraint or requirement that it is met and denies nothing, or that it
    is not met, without weighing or leaving open. English and Chinese. What is put otherwise goes
    unnoticed, and the verdict stands either way.
    """
    hint = _MAY_DENY if status is Status.MET else _MAY_AFFIRM
    said = explanation.casefold().rstrip(_AFTER)[-_LONGEST:]
    if not hint.search(said):
        return False
    last = _END.split(said)[-1]
    if _HEDGED.search(last):
        return False
    if status is Status.MET:
        return bool(_UNMET.search(last)) and not re.search("[不未没无]违反|not violate", last)
    return status is Status.UNMET and bool(_MET.search(last)) and not _DENIES.search(last)
