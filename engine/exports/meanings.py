"""What the fields of events mean, for exports and other programs: the docstrings under them, read from the source."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Mapping
from itertools import pairwise

from mage_es.events.facts.event import Event, Part


def meanings_of(cls: type[Event] | type[Part], common: Mapping[str, str]) -> dict[str, str]:
    """Return what each field means: its docstring, or else what `common` says of a field of this name, or nothing."""
    own = {name: doc for each in reversed(cls.__mro__) for name, doc in _documented(each).items()}
    return {name: own.get(name) or common.get(name, "") for name in cls.__struct_fields__}


@functools.cache
def _documented(cls: type) -> dict[str, str]:
    # From the source, because Python keeps no docstring of a field; a class that was typed into a shell has none.
    try:
        [definition] = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    except (OSError, TypeError):
        return {}
    assert isinstance(definition, ast.ClassDef)
    documented = {}
    for field, doc in pairwise(definition.body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(doc, ast.Expr):
            documented[field.target.id] = " ".join(str(ast.literal_eval(doc.value)).split())
    return documented
