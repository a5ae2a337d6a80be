"""What the fields of a struct mean: the docstrings under them, read from the source, as Python keeps none."""

import ast
import functools
import inspect
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any


@functools.cache
def field_docs(cls: type) -> Mapping[str, str]:
    """Return the docstring of each field that has one, in one line; without a source file there are none."""
    documented = dict[str, str]()
    for each in reversed(cls.__mro__):
        for field, doc in pairwise(_classes(each.__module__).get(each.__name__, ())):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(doc, ast.Expr):
                documented[field.target.id] = " ".join(str(ast.literal_eval(doc.value)).split())
    return documented


@functools.cache  # `inspect` would read a module again for each of its classes
def _classes(module: str) -> Mapping[str, Sequence[ast.stmt]]:
    """Return the statements of each class of a module."""
    found: Any = sys.modules.get(module)
    try:
        statements = ast.parse(inspect.getsource(found)).body
    except (OSError, TypeError):  # typed into a shell, or written in C
        return {}
    return {each.name: each.body for each in statements if isinstance(each, ast.ClassDef)}
