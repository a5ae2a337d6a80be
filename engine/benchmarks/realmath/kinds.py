"""Task types of RealMath: the kind of answer that a question asks for, from its text alone."""

from __future__ import annotations

import re

_RULES = (
    ("count", r"how many|number of|cardinality"),
    ("limit_asymptotic", r"\blimits?\b|\\lim\b|tends? to|asymptotic"),
    ("extremum", r"maxim(?:um|al)|minim(?:um|al)|smallest|largest"),
    ("condition", r"for which|necessary and sufficient"),
    ("value", r"values? of|compute|evaluate|equal to"),
)
_KINDS = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _RULES)


def kind_of(question: str) -> str:
    """Return the first kind whose words occur in a question, `expression` if none do.

    [section 4, RealMath, task types] Subset and kind, from the question's words alone; the theorem, which holds the
    answer, is never read.
    """
    return next((kind for kind, pattern in _KINDS if pattern.search(question)), "expression")
