"""Help texts: the everyday flags of a command on one screen, all of them with ``--help-all``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cyclopts import CycloptsError
    from rich.console import Console, ConsoleOptions

HELP_ALL = "--help-all"

RARE = frozenset(
    {
        "--api-key",
        "--api-key-env",
        "--header",
        "--body",
        "--prompt-file",
        "--system-prompt-file",
        "--explain",
        "--measure",
        "--per-call",
        "--min-confidence",
        "--reasks",
        "--reject-contradictions",
        "--proposals",
        "--protocol",
        "--replies",
        "--temperature",
        "--top-p",
        "--max-completion-tokens",
        "--max-concurrency",
        "--rpm",
        "--tpm",
        "--timeout",
        "--device",
        "--dtype",
        "--batch-size",
        "--log-level",
        "--log-file",
        "--prices",
        "--quiet",
        "--seed",
        "--reasoning",
        "--min-coverage",
        "--executor",
        "--workers",
        "--votes",
        "--images",
        "--prefix-cache",
        "--task",
        "--exclude-generation-failures",
        "--sample",
        "--reuse",
    }
)
"""Flags that most users never give; only ``--help-all`` shows them."""

CONCURRENCY = "--max-concurrency"
ADDRESS = "--base-url"

MEANT = {
    "--threads": CONCURRENCY,
    "--workers": CONCURRENCY,
    "--parallel": CONCURRENCY,
    "--concurrency": CONCURRENCY,
    "--jobs": CONCURRENCY,
    "--api-base": ADDRESS,
    "--endpoint": ADDRESS,
    "--url": ADDRESS,
    "--key": "--api-key-env",
    "--html": "heedful report RUN, which writes a page of HTML",
    "--csv": "heedful export RUN -o FILE.csv",
}
"""What flags of other tools are called here, which the nearest name would miss."""

FEW = 3
"""Fewer rare flags than this in a panel are shown: they take no more room than their number."""

NEEDLESS = frozenset({"False", "[]"})
"""Defaults that go without saying."""


class HelpText:
    """Renders the panels of a help text; the parser calls it for each."""

    def __init__(self, *, everything: bool) -> None:
        """Begin a help text."""
        self.everything = everything
        self.hidden = 0

    def __call__(self, console: Console, options: ConsoleOptions, panel: Any) -> None:
        """Render a panel, without the rare flags, and not at all if it has no others."""
        from cyclopts.help.formatters import DefaultFormatter

        entries = list(panel.entries)
        everyday = [entry for entry in entries if entry.required or RARE.isdisjoint(entry.names)]
        hidden = len(entries) - len(everyday)
        if not self.everything and hidden >= FEW:
            entries = everyday
            self.hidden += hidden
        for entry in entries:
            _rewrap(entry.description)
            if entry.default in NEEDLESS:
                entry.default = None
        if entries:
            DefaultFormatter()(console, options, panel.copy(entries=entries))

    def render_usage(self, console: Console, options: ConsoleOptions, usage: Any) -> None:
        """Render the usage line."""
        from cyclopts.help.formatters import DefaultFormatter

        DefaultFormatter().render_usage(console, options, usage)

    def render_description(self, console: Console, _options: ConsoleOptions, text: Any) -> None:
        """Render the text above the panels; examples stay in one line each, to be copied."""
        from rich.text import Text

        inner = getattr(text, "primary_renderable", text)
        said = inner.plain if isinstance(inner, Text) else str(inner)
        for paragraph in said.strip().split("\n\n"):
            example = paragraph.startswith("heedful ")
            shown = paragraph if example else " ".join(paragraph.split())
            console.print(f"{shown}\n", soft_wrap=example, markup=False, highlight=False)


def meant(error: CycloptsError) -> str:
    """Say what a flag that there isn't is called here; nothing where that isn't known."""
    from cyclopts import UnknownOptionError

    if not isinstance(error, UnknownOptionError):
        return ""
    given = (error.token.keyword or error.token.value).partition("=")[0]
    here = MEANT.get(given, "")
    flags = {name for argument in error.argument_collection for name in argument.names}
    if not here or (here.startswith("--") and here not in flags):
        return ""
    return f"Unknown option: {given}. Did you mean {here}?"


def _rewrap(description: Any) -> None:
    """Let a description break its lines where the terminal does, not where the source does."""
    from rich.text import Text

    text = getattr(description, "primary_renderable", None)
    if isinstance(text, Text):
        description.primary_renderable = Text(" ".join(text.plain.split()))
