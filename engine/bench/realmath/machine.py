"""Machine-readable golds: expressions in the notation of a symbolic mathematics library, read without running them.

The text is parsed into Python's syntax tree, and a short list of node types is translated; nothing is evaluated. A
public copy of part of RealMath has answers in this notation beside its records, in `<subset>.sympy_answers.json`.
"""

import ast
from collections.abc import Mapping

import msgspec

from mage_es.engine.bench.realmath.expressions import (
    EULER,
    IMAGINARY,
    PI,
    Application,
    Collection,
    Expression,
    StatedAnswer,
    StatedItem,
    Unreadable,
    Variable,
    number,
    relation,
    stated,
)

_MOST_CHARACTERS = 1000
_CONSTANTS: Mapping[str, Expression] = {"pi": PI, "E": EULER, "I": IMAGINARY}
_OPERATORS: Mapping[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.Pow: "power",
}
_FUNCTIONS = {
    "factorial": "factorial", "binomial": "binomial", "floor": "floor", "ceiling": "ceiling", "Abs": "absolute",
    "Rational": "divide", "exp": "exp", "log": "log", "sin": "sin", "cos": "cos", "tan": "tan", "asin": "arcsin",
    "acos": "arccos", "atan": "arctan", "gamma": "gamma", "zeta": "zeta", "LambertW": "lambertw", "Min": "min",
    "Max": "max",
}  # fmt: skip
_COMPARED: Mapping[type[ast.cmpop], str] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_RELATIONS = {"Lt": "<", "Le": "<=", "Gt": ">", "Ge": ">=", "Eq": "="}


class MachineAnswer(msgspec.Struct, frozen=True):
    answer_kind: str
    sympy_answer: str | list[str]


def read_machine(answer: MachineAnswer) -> StatedAnswer:
    texts = [answer.sympy_answer] if isinstance(answer.sympy_answer, str) else answer.sympy_answer
    return stated([_read(text) for text in texts])


def _read(text: str) -> StatedItem:
    if len(text) > _MOST_CHARACTERS:
        raise Unreadable(f"{len(text)} characters")
    try:
        return _item(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Unreadable(str(error)) from error


def _item(node: ast.expr) -> StatedItem:
    if isinstance(node, ast.Compare):
        sides = [_expression(each) for each in (node.left, *node.comparators)]
        if not _COMPARED.keys() >= set(map(type, node.ops)):
            raise Unreadable("a comparison that is not understood")
        return relation([_COMPARED[type(each)] for each in node.ops], sides)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        name = node.func.id
        if name in ("Tuple", "FiniteSet"):
            return Collection(tuple(_item(each) for each in node.args), is_ordered=name == "Tuple")
        if name in _RELATIONS and len(node.args) == 2:
            left, right = (_expression(each) for each in node.args)
            is_naming = name == "Eq" and isinstance(left, Variable)  # dropped, as in a formula
            return right if is_naming else relation([_RELATIONS[name]], [left, right])
    return _expression(node)


def _expression(node: ast.expr) -> Expression:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return number(repr(node.value))
    if isinstance(node, ast.Name):
        return _CONSTANTS.get(node.id, Variable(_named(node.id)))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return Application("negative", (_expression(node.operand),))
    if isinstance(node, ast.BinOp):
        left, right = _expression(node.left), _expression(node.right)
        if isinstance(node.op, ast.Sub):
            return Application("add", (left, Application("negative", (right,))))
        if type(node.op) in _OPERATORS:
            return Application(_OPERATORS[type(node.op)], (left, right))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return _call(node.func.id, node.args)
    raise Unreadable(f"{ast.unparse(node)[:40]} is not understood")


def _named(name: str) -> str:
    """Return a name in the form that `reading` gives it: `M_n_plus_1` is M with the subscript n+1."""
    plain = name.removesuffix("_symbol").replace("_plus_", "+").replace("_minus_", "-")
    return plain.replace("_prime", "'")


def _call(name: str, args: list[ast.expr]) -> Expression:
    if name in ("Sum", "Product") and len(args) == 2 and isinstance(args[1], ast.Tuple) and len(args[1].elts) == 3:
        index, low, high = (_expression(each) for each in args[1].elts)
        return Application(name.lower(), (index, low, high, _expression(args[0])))
    if name == "sqrt" and len(args) == 1:
        return Application("power", (_expression(args[0]), Application("divide", (number(1), number(2)))))
    if name in _FUNCTIONS:
        return Application(_FUNCTIONS[name], tuple(_expression(each) for each in args))
    raise Unreadable(f"{name} is not understood")
