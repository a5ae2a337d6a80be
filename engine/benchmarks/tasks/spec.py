"""The name of the user's own tasks: `FILE?scorer=number&columns=question:prompt,answer:label`; a run records it after
`tasks/`.

`FILE` is a path as the user gave it, or `hf:NAME`. A run reads it once, when it begins.
"""

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import NamedTuple
from urllib.parse import parse_qsl, quote

from mage_es.engine.benchmarks.tasks import HUB, OWN_TASKS, ROLES
from mage_es.engine.benchmarks.tasks.columns import NEEDED
from mage_es.engine.benchmarks.tasks.scorers import scorer_names
from mage_es.events.errors import UsageError, nearest

_OPTIONS = ["columns", "instruction", "labels", "scorer", "subset", "test"]
_FUNCTION = re.compile(r"[\w.]+:\w+")
NEEDLESS = "With labels the answer is one of them, so the scorer {scorer} is not needed: omit it."
_KEPT = "/:,="
"""Characters that are not percent-encoded in an option's value."""


class TaskSpec(NamedTuple):
    """`test` is a second file (for a hub's data set, a split) that is used only in exams; `subset` is a configuration
    of such a data set. `instruction` says what to do, `labels` are the possible answers."""

    source: str
    scorer: str = "exact"
    columns: Mapping[str, str] = {}
    test: str = ""
    subset: str = ""
    instruction: str = ""
    labels: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        pairs = {
            "columns": ",".join(f"{role}:{column}" for role, column in sorted(self.columns.items())),
            "instruction": self.instruction,
            "labels": ",".join(self.labels),
            "scorer": self.scorer,
            "subset": self.subset,
            "test": self.test,
        }
        query = "&".join(f"{option}={quote(value, safe=_KEPT)}" for option, value in pairs.items() if value)
        return f"{OWN_TASKS}{quote(self.source, safe=_KEPT)}?{query}"

    @property
    def title(self) -> str:
        return PurePath(self.source.removeprefix(HUB)).name.partition(".")[0]


def parse(name: str, **given: str) -> TaskSpec:
    """Return the spec in a name, overridden by the options `given`. Raises `UsageError`."""
    source, _, query = name.removeprefix(OWN_TASKS).partition("?")
    try:
        options = dict(parse_qsl(query, strict_parsing=bool(query)))
        (_, source), *_ = parse_qsl(f"source={source}", strict_parsing=True)
    except ValueError:
        raise UsageError(f"{name!r} is not of the form FILE?option=value&option=value.") from None
    for option in options:
        if option not in _OPTIONS:
            raise UsageError(f"Own tasks have no option {option!r}.{nearest(option, _OPTIONS)}")
    return specified(source, **{**options, **given})


def specified(
    source: str,
    *,
    scorer: str = "exact",
    columns: str = "",
    test: str = "",
    subset: str = "",
    instruction: str = "",
    labels: str = "",
) -> TaskSpec:
    """`columns` is `role:column,role:column`, or with `=`; `role:` says that no column has the role. `labels` is
    `A,B,C`.

    Raises `UsageError`.
    """
    if scorer not in scorer_names() and not _FUNCTION.fullmatch(scorer):
        raise UsageError(
            f"There is no scorer {scorer!r}.{nearest(scorer, scorer_names())} Write your own function as "
            f"MODULE:FUNCTION."
        )
    listed = tuple(dict.fromkeys(filter(None, (label.strip() for label in labels.split(",")))))
    if listed and scorer not in ("exact", "choice"):
        raise UsageError(NEEDLESS.format(scorer=scorer))
    if len(listed) == 1:
        raise UsageError(f"There is only one label, {listed[0]}: give all possible answers, as in yes,no.")
    scorer = "choice" if listed else scorer
    return TaskSpec(source, scorer, _columns(columns), test, subset, instruction.strip(), listed)


def _columns(text: str) -> dict[str, str]:
    found = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        role, separator, column = pair.replace("=", ":", 1).partition(":")
        if not separator and role not in ROLES:
            raise UsageError(
                f"{pair!r} does not say what that column is: write ROLE={pair}, with one of {', '.join(ROLES)}."
            )
        if role not in ROLES:
            raise UsageError(f"A column cannot be the {role!r} of a task.{nearest(role, list(ROLES))}")
        if not column and (not separator or role in NEEDED):
            none = "" if role in NEEDED else f", or {role}= for none"
            raise UsageError(f"Name the column of the {role}: {role}=NAME{none}.")
        found[role] = column
    return found
