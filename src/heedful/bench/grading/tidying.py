r"""Answers in LaTeX, written plainly: one spelling of each thing. No mathematics is done here."""

from __future__ import annotations

import re
import unicodedata

from heedful.bench.grading.boxes import boxed
from heedful.bench.grading.notation import respelled
from heedful.bench.grading.spoken import in_digits
from heedful.bench.grading.words import CIRCLED

_CHARACTERS = str.maketrans(
    {
        "−": "-", "–": "-", "×": r"\times ", "·": r"\cdot ", "⋅": r"\cdot ", "÷": "/",
        "π": r"\pi ", "θ": r"\theta ", "Ω": r"\Omega ", "∞": r"\infty ", "∪": r"\cup ",
        "∩": r"\cap ", "∈": r"\in ", "≤": r"\le ", "≥": r"\ge ", "≠": r"\ne ",
        "≡": r"\equiv ",
        "≈": r"\approx ", "±": r"\pm ", "√": r"\sqrt", "∅": r"\emptyset ", "°": r"^\circ ",
        "º": r"^\circ ", "ℝ": r"\mathbb{R}", "ℤ": r"\mathbb{Z}", "ℚ": r"\mathbb{Q}",
        "ℕ": r"\mathbb{N}", "ℂ": r"\mathbb{C}", "、": ", ", "，": ", ", "；": "; ", "。": ".",
        "或": " or ", "和": " and ", "且": " and ", "¢": " cents", "㎡": "m^2", "㎥": "m^3",
    }
)  # fmt: skip
_VULGAR = re.compile("[¼-¾⅐-⅞]")
_STATEMENTS = re.compile(rf"(?P<number>[{CIRCLED}⑴-⒇❶-❿])(?P<more>\s*(?=[{CIRCLED}⑴-⒇❶-❿]))?")
_UNNUMBERED = re.compile(f"[^{CIRCLED}]+")
_RAISED = re.compile("[⁰¹²³⁴-⁹⁺⁻ⁿ]+")
_LOWERED = re.compile("[₀-₉]+")
_DOUBLED = re.compile(r"\\\\(?:[a-zA-Z]{2,}|[%{}!])")
_SINGLE = re.compile(r"(?<!\\)(?:\\\\)*\\[a-zA-Z%{}]")
_LEAD_IN = re.compile(
    r"(?:so |thus,? |therefore,? )?(?:the )?(?:final |correct )?answer\s*(?:is\s*:?|:|=)\s*(?=\S)"
    r"|(?:option|choice)\s+(?=\(?[A-J]\)?$)|(?:故选|选项?|答案[是为]?|答)\s*[:：]?\s*(?=\S)",
    re.IGNORECASE,
)
_FUNCTION = r"arcsin|arccos|arctan|sin|cos|tan|cot|sec|csc|ln|log"
_SIMPLER = (
    # What only shapes the page goes; of several ways to write one thing, one stays.
    (re.compile(r"\\(?:left|right|[bB]igg?[lrm]?|middle)(?![a-zA-Z])\s*\.?"), ""),
    (re.compile(r"\\(?:displaystyle|textstyle|limits|nolimits|hline|nonumber)(?![a-zA-Z])"), ""),
    (re.compile(r"(?<!\\)\\!\s*"), ""),
    (re.compile(rf"\\({_FUNCTION})([a-gi-zA-Z])(?![a-zA-Z])"), r"\\\1 \2"),
    (
        re.compile(
            r"(?<!\\)\\(?:[,;: ]|quad(?![a-zA-Z])|qquad(?![a-zA-Z])|hfill|enspace)|(?<!\\)~"
        ),
        " ",
    ),
    (re.compile(r"\\[()\[\]]|(?<!\\)\$|\\\$"), ""),
    (re.compile(r"\\[dtc](frac|binom)(?![a-zA-Z])"), r"\\\1"),
    (re.compile(r"\\(?:leqslant|leq)(?![a-zA-Z])"), r"\\le"),
    (re.compile(r"\\(?:geqslant|geq)(?![a-zA-Z])"), r"\\ge"),
    (re.compile(r"\\neq(?![a-zA-Z])"), r"\\ne"),
    (re.compile(r"\\(?:varnothing|oslash|O)(?![a-zA-Z])"), r"\\emptyset"),
    (re.compile(r"\\(?:lvert|rvert|vert|mid)(?![a-zA-Z])"), "|"),
    (re.compile(r"\\langle(?![a-zA-Z])"), "("),
    (re.compile(r"\\rangle(?![a-zA-Z])"), ")"),
    (re.compile(r"\\lbrace(?![a-zA-Z])"), r"\\{"),
    (re.compile(r"\\rbrace(?![a-zA-Z])"), r"\\}"),
    (re.compile(r"(?:\^\s*(?:\{\s*\\degree\s*\}|\\degree)|\\degree)(?![a-zA-Z])"), r"^\\circ "),
    (re.compile(r"\^\s*(?:\{\s*\\circ\s*\}|\\circ(?![a-zA-Z]))"), r"^\\circ "),
    (re.compile(r"\\%|\\text\{\s*%\s*\}"), "%"),
    (re.compile(r"\{,\}"), ","),
    (re.compile(r"\\(?:textcolor|color)\s*\{[^{}]*\}"), ""),
    (
        re.compile(r"^\s*\\(?:therefore|because|Rightarrow|implies|Longrightarrow)(?![a-zA-Z])\s*"),
        "",
    ),
    (re.compile(r"\\(?:begin|end)\{(?:equation|gather(?:ed)?)\*?\}"), ""),
    (re.compile(r"^([a-z])(\d)(?=\s*=)|(?<=[,;\s])([a-z])(\d)(?=\s*=)"), r"\1\3_\2\4"),
    (re.compile(r"\\begin\{[bB]?(?:matrix|smallmatrix)\}"), r"\\begin{pmatrix}"),
    (re.compile(r"\\end\{[bB]?(?:matrix|smallmatrix)\}"), r"\\end{pmatrix}"),
    (re.compile(r"\\begin\{array\}\s*\{[^{}]*\}"), r"\\begin{pmatrix}"),
    (re.compile(r"\\end\{array\}"), r"\\end{pmatrix}"),
    (re.compile(r"\\(?:underline|overline)\{\s*\}"), ""),
    (re.compile(r"(?<=\w)\s*\*\*\s*(?=[\w({])"), "^"),
    (re.compile(r"(?<=\d)\s?x\s?(?=10\^)"), r"\\times "),
    (re.compile(r"\\lg(?![a-zA-Z])"), r"\\log_{10} "),
    (re.compile(r"^(?:the set of )?all real numbers\s*$", re.IGNORECASE), r"\\mathbb{R}"),
    (re.compile(r"(?<=\S)\s*[,;(]\s*[a-zA-Z]\s*\\in\s*\\mathbb\s*\{?\s*Z\s*\}?\s*\)?$"), ""),
    (re.compile(r"\\(min|max|gcd|lcm)\s*\\\{([^{}]*)\\\}"), r"\\\1(\2)"),
    (re.compile(r"\{\s*(\w+)\s*\\choose\s*(\w+)\s*\}"), r"\\binom{\1}{\2}"),
)
_ALIGNED = re.compile(
    r"\\begin\{(align(?:ed)?|split|eqnarray)(\*?)\}(?P<lines>.*?)\\end\{\1\2\}", re.DOTALL
)
_ANGLE = re.compile(
    r"(?<!\d)(\d++)\s*(?:\^\s*\{?\s*\\circ\s*\}?|°)\s*(\d+)\s*(?:\^\s*\{?\s*\\prime\s*\}?|['′])(?!['′])"
    r"(?:\s*(\d+)\s*(?:\^\s*\{?\s*\\prime\s*\\prime\s*\}?|''|″))?"
)
_WRAPPER = re.compile(
    r"\\(?:text(?:bf|it|rm|normal)?|math(?:rm|bf|it|sf|normal)|boldsymbol|bm|mbox|hbox"
    r"|operatorname\*?|boxed|fbox|rm|bf|it)\s*\{((?:[^{}]|\{[^{}]*\})*+)\}"
)
_OLD_STYLE = re.compile(r"\\(?:rm|bf|it|mathrm|mathbf|text)(?![a-zA-Z])\s*")
_BARE_FRACTION = re.compile(r"\\(frac|binom)\s*(\d|[a-zA-Z]|\{[^{}]*\})\s*(\d|[a-zA-Z]|\{[^{}]*\})")
_BARE_ROOT = re.compile(r"\\sqrt\s*(\d+|[a-zA-Z])")
_BARE_EXPONENT = re.compile(r"\^\s*(-\d+|\d{2,})(?![\d.])")
_OPENS_DECIMAL = re.compile(r"\.(?:\d|\.\.)")
_OPENS_COMMA = re.compile(r",\d")
_ARGUMENT = re.compile(
    r"(?P<function>\\(?:(?:arc|ar)?(?:sin|cos|tan|cot|sec|csc)h?|ln|log|lg|exp)"
    r"(?:\s*[_^]\s*(?:\{[^{}]*\}|\w))*)\s*(?=\{)"
)
_SPACED_FACTOR = re.compile(r"(?<![\w.}/])(\d++)/(\d++)\s+(?=[a-zA-Z\\(])")
_BEFORE_PRODUCT = re.compile(
    rf"(?P<function>\\(?:{_FUNCTION})(?:\s*[_^]\s*(?:\{{[^{{}}]*\}}|\w))*)\s+"
    r"(?P<argument>\d++(?:\.\d++)?(?:\s*(?:[a-zA-Z]|\\(?!cdot|times)[a-z]++))?|[a-zA-Z]|\\[a-z]++)"
    r"\s*+(?=\\(?:cdot|times)(?![a-z]))"
)
_PLAIN_FUNCTION = re.compile(
    r"(?<![a-zA-Z\\])(arcsin|arccos|arctan|sin|cos|tan|cot|csc|ln|log)(?![a-zA-Z])(?=\s*[\w\\({^])"
)
_PLAIN_PI = re.compile(r"(?<![a-zA-Z\\])pi(?![a-zA-Z])")
_VARIANT = re.compile(r"\\var(epsilon|phi|theta|rho|sigma|kappa)(?![a-zA-Z])")
_MONEY = re.compile(
    r"""\$?\s*+(?P<sign>-?)(?:US)?+\s*+(?P<currency>\\?\$|€|£|\\pounds|¥|￥)\s*(?P<sum>-?(?:\d[\d,]*+(?:\.\d++)?|\.\d++))
    \s*+(?P<scale>[kKmMbB]|thousand|million|billion)?+\s*+\$?\.?""",
    re.VERBOSE,
)
_CURRENCIES = {"€": "euros", "£": "pounds", r"\pounds": "pounds", "¥": "yensign", "￥": "yensign"}
_MULTIPLES = {"k": "thousand", "m": "million", "b": "billion"}
_REPEATING = re.compile(
    r"""(?<![\d.])(?P<whole>\d*)\.(?P<start>\d*?)(?:
    \\(?:overline|bar|dot)\s*(?:\{(?P<block>\d{2,})\}|\{?(?P<digit>\d)\}?)(?:(?P<middle>\d*)\\dot\s*\{?(?P<last>\d)\}?)?
    |\((?P<bracketed>\d+)\)|(?P<repeated>\d+?)(?P=repeated){2,}\s*(?:\.\.\.|\\[lcd]?dots))""",
    re.VERBOSE,
)
_TEMPERATURE = re.compile(r"\^\\circ\s*(?:(?P<celsius>C)|F)(?![a-zA-Z])")
_TRIGONOMETRIC = re.compile(r"sin|cos|tan|cot|sec|csc")
_NUMBER_OF_DEGREES = re.compile(r"(?<![\d.])(\d++(?:\.\d++)?)\s*+\^\\circ(?![a-zA-Z])")
_LAST_DEGREES = re.compile(r"(?<=[\d)}])\s*\^\\circ\s*$")
_DEGREES = re.compile(r"(?<=[\d)}])\s*\^\\circ(?![a-zA-Z])\s*")
_PERCENT = re.compile(r"(?<=\d)\s*(?:per\s?cent(?:age)?|pct)\s*$", re.IGNORECASE)
_EMPTY = re.compile(r"(?:[_^]\s*)?\{\s*\}")
_BLANKS = re.compile(r"\s+")


def tidy(text: str) -> str:
    r"""Write an answer plainly: no spacing commands, no fonts, one spelling of each thing.

    >>> tidy(r"$\left(\dfrac12,\; \text{cm}\right)$.")
    '(\\frac{1}{2}, cm )'
    """
    text = _unboxed(text.strip(" \n\t`"))
    if _DOUBLED.search(text) and not _SINGLE.search(text):
        text = text.replace("\\\\", "\\")
    money = _MONEY.fullmatch(text)
    if money and (money["currency"] != "$" or text.count("$") == 1):
        scale = (money["scale"] or "").casefold()
        currency = _CURRENCIES.get(money["currency"], "dollars")
        return f"{money['sign']}{money['sum']} {_MULTIPLES.get(scale, scale)} {currency}".replace(
            "  ", " "
        )
    text = _in_ascii(_ANGLE.sub(_degrees, respelled(text)))
    text = _ALIGNED.sub(_on_one_line, text)
    text = _VARIANT.sub(lambda m: m[0] if rf"\{m[1]}" in text else rf"\{m[1]}", text)
    for pattern, simpler in _SIMPLER:
        text = pattern.sub(simpler, text)
    while (shorter := _WRAPPER.sub(_unwrapped, text)) != text:
        text = shorter
    text = _OLD_STYLE.sub("", text)
    while (shorter := _EMPTY.sub("", text)) != text and shorter.strip():
        text = shorter
    text = _BARE_FRACTION.sub(lambda m: rf"\{m[1]}{_braced(m[2])}{_braced(m[3])}", text)
    text = _BARE_ROOT.sub(lambda m: rf"\sqrt{_braced(m[1])}", text)
    text = _BARE_EXPONENT.sub(r"^{\1}", text)
    text = _PLAIN_PI.sub(r"\\pi ", text)
    text = _PLAIN_FUNCTION.sub(r"\\\1 ", _REPEATING.sub(_as_fraction, text))
    text = _SPACED_FACTOR.sub(r"\\frac{\1}{\2} ", text)
    text = _BEFORE_PRODUCT.sub(r"\g<function>(\g<argument>) ", text)
    text = _BLANKS.sub(" ", _arguments(text)).rstrip("\\")
    text = _unemphasized(text.strip())
    lead_in = _LEAD_IN.match(text)
    text = in_digits(text[lead_in.end() :] if lead_in else text)
    if "^\\circ" in text:
        text = _angles(text)
    text = _PERCENT.sub("%", text)
    text = text.rstrip(" .,;:" if not text.endswith("...") else " ,;:")
    if _OPENS_COMMA.match(text):
        return text
    text = text.lstrip(" ,;:")
    return text if _OPENS_DECIMAL.match(text) else text.lstrip(" .,;:")


def _unemphasized(text: str) -> str:
    """Take a bullet and the marks of bold text away; ``x*`` alone is a name, and ``5*`` unclear."""
    bare = text.lstrip("* ")
    return bare.rstrip("* ") if bare != text or text.endswith("**") else text


def _unboxed(text: str) -> str:
    """Return what a box holds, if it holds all of a text."""
    outer = text.strip(" $")
    if not outer.startswith(("\\boxed", "\\fbox")):
        return text
    boxes = list(boxed(outer))
    whole = len(boxes) == 1 and boxes[0].end == len(outer)
    return boxes[0].content if whole else text


def _in_ascii(text: str) -> str:
    """Write characters that have a spelling in LaTeX or ASCII in it."""
    if text.isascii():
        return text
    text = _VULGAR.sub(lambda m: rf"\frac{{{_plain(m.group())}}}".replace("\u2044", "}{"), text)
    text = _RAISED.sub(lambda m: f"^{{{_plain(m.group())}}}", text)
    text = _LOWERED.sub(lambda m: f"_{{{_plain(m.group())}}}", text)
    text = _STATEMENTS.sub(_statement, text)
    return _UNNUMBERED.sub(
        lambda m: _plain(m.group().translate(_CHARACTERS)).translate(_CHARACTERS), text
    )


def _statement(match: re.Match[str]) -> str:
    """Write a statement's number in a circle; several are a list: ``⑴⑶`` is ``①, ③``."""
    circled = chr(ord("①") - 1 + int(unicodedata.numeric(match["number"])))
    return f"{circled}, " if match["more"] is not None else circled


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _on_one_line(match: re.Match[str]) -> str:
    """Write a chain of equations over several lines on one; a line with a new left side is new."""
    joined = ""
    for line in re.split(r"\\\\(?:\[[^\]]*\])?", match["lines"]):
        left, _, right = line.strip().partition("&")
        joined += f"{', ' if joined and left.strip() else ' '}{left} {right.replace('&', ' ')}"
    return joined.strip(" ,")


def _as_fraction(match: re.Match[str]) -> str:
    r"""Write ``0.1\overline{6}`` as a fraction."""
    block = match["block"] or match["bracketed"] or match["repeated"] or ""
    if match["digit"]:
        block = match["digit"] + (match["middle"] or "") + (match["last"] or "")
    product = match["bracketed"] and match["start"] and match["whole"] not in {"", "0"}  # 2.5(3)
    if not block or product:
        return match.group()
    start = match["start"]
    above = int((match["whole"] or "0") + start + block) - int((match["whole"] or "0") + start)
    return rf"\frac{{{above}}}{{{'9' * len(block)}{'0' * len(start)}}}"


def _arguments(text: str) -> str:
    r"""Write ``\sin{x}y`` as ``\sin(x)y``, which is not ``\sin xy``."""
    at = 0
    while match := _ARGUMENT.search(text, at):
        at = match.end()
        depth = 0
        for end in range(at, len(text)):
            depth += (text[end] == "{") - (text[end] == "}")
            if not depth:
                after = text[end + 1 :].lstrip()
                if after and (after[0].isalnum() or after[0] in "\\({"):
                    inner = text[at + 1 : end]
                    text = f"{text[: match.end('function')]}({inner}){text[end + 1 :]}"
                    at = match.end("function")
                break
    return text


def _angles(text: str) -> str:
    """Write the degree sign as a unit; of a value in degrees without a unit, only the number."""
    text = _TEMPERATURE.sub(lambda m: " celsius" if m["celsius"] else " fahrenheit", text)
    if _TRIGONOMETRIC.search(text):
        return _NUMBER_OF_DEGREES.sub(r"(\1 \\cdot \\frac{\\pi}{180})", text)
    if text.count(r"^\circ") == 1:
        text = _LAST_DEGREES.sub(" degrees", text)
    return _DEGREES.sub("", text)


def _degrees(match: re.Match[str]) -> str:
    """Write degrees, minutes and seconds as one fraction of degrees."""
    degrees, minutes, seconds = (int(part or 0) for part in match.groups())
    return rf"\frac{{{degrees * 3600 + minutes * 60 + seconds}}}{{3600}}"


def _unwrapped(match: re.Match[str]) -> str:
    """Return what a font command holds; words keep their distance from what stands beside."""
    inner = match[1]
    if not match[0].startswith((r"\t", r"\mathrm", r"\mbox", r"\hbox")):
        return inner
    return f" {inner} " if len(inner.strip()) > 1 else f" {inner}"


def _braced(part: str) -> str:
    return part if part.startswith("{") else f"{{{part}}}"
