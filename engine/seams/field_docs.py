"""What the fields of a struct mean: the docstrings under them, read from the source, as Python keeps none."""

import ast
import functools
import inspect
import textwrap
from collections.abc import Mapping
from itertools import pairwise


@functools.cache
def field_docs(cls: type) -> Mapping[str, str]:
    """Return the docstring of each field that has one, in one line; without a source file there are none."""
    documented = dict[str, str]()
    for each in reversed(cls.__mro__):
        try:
            [definition] = ast.parse(textwrap.dedent(inspect.getsource(each))).body
        except (OSError, TypeError):  # typed into a shell, or written in C
            continue
        assert isinstance(definition, ast.ClassDef)
        for field, doc in pairwise(definition.body):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(doc, ast.Expr):
                documented[field.target.id] = " ".join(str(ast.literal_eval(doc.value)).split())
    return documented
