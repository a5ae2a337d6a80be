"""Event fields as Arrow arrays and back: Python values in, equal Python values out, floats bit for bit."""

import functools
import operator
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import accumulate, chain, pairwise
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mage_es.events.errors import LogDamaged
from mage_es.events.facts import Event
from mage_es.events.facts.shapes import Shape, shapes_of

_PLAIN = {"str": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_(), "bytes": pa.binary()}
VECTOR = pa.list_(pa.float32())


def arrow_type(shape: Shape) -> pa.DataType:
    """Return the Arrow type of a shape; vectors have none, since they are stored separately."""
    if shape.item is not None:
        return pa.list_(arrow_type(shape.item))
    if shape.part is not None:
        return pa.struct([pa.field(name, arrow_type(member)) for name, member in shape.members])
    return _PLAIN[shape.kind]


def to_arrow(values: Sequence[Any], shape: Shape) -> pa.Array:
    """Return the array of these values, which may not be None."""
    if shape.item is not None:
        # Built from offsets, so that all items are converted in one flat pass.
        offsets = pa.array([0, *accumulate(map(len, values))], pa.int32())
        return pa.ListArray.from_arrays(offsets, to_arrow(list(chain.from_iterable(values)), shape.item))
    if shape.part is not None:
        arrays = [to_arrow(list(map(operator.attrgetter(name), values)), member) for name, member in shape.members]
        return pa.StructArray.from_arrays(arrays, fields=list(arrow_type(shape)))
    return pa.array(values, _PLAIN[shape.kind])


def to_python(array: pa.Array, shape: Shape) -> list[Any]:
    """Return the values of an array. Raises `LogDamaged` if one is missing."""
    if array.null_count:
        raise LogDamaged(f"{array.null_count} of {len(array)} stored values of kind {shape} are missing.")
    if shape.item is not None:
        offsets = array.offsets.to_numpy().tolist()
        items = to_python(array.values.slice(offsets[0], offsets[-1] - offsets[0]), shape.item)
        return [tuple(items[a - offsets[0] : b - offsets[0]]) for a, b in pairwise(offsets)]
    if shape.part is not None:
        columns = [to_python(child, member) for child, (_, member) in zip(array.flatten(), shape.members, strict=True)]
        names = tuple(name for name, _ in shape.members)
        return list(map(maker(shape.part, names, ()), *columns))
    if pa.types.is_dictionary(array.type):  # one Python object for each distinct value, however often it occurs
        distinct = array.dictionary.to_numpy(zero_copy_only=False)
        shared: list[Any] = distinct[array.indices.to_numpy()].tolist()
        return shared
    values: list[Any] = array.to_numpy(zero_copy_only=False).tolist()
    return values


def same_bits(one: pa.Array, other: pa.Array) -> bool:
    # Not `equals`: here a NaN must equal itself, and -0.0 must not equal 0.0.
    if len(one) != len(other) or one.null_count != other.null_count:
        return False
    if one.null_count == len(one):
        return True
    if pa.types.is_struct(one.type):
        pairs = zip(one.flatten(), other.flatten(), strict=True)
        return bool(one.is_valid().equals(other.is_valid())) and all(same_bits(a, b) for a, b in pairs)
    if pa.types.is_list(one.type):
        sizes = pc.list_value_length(one).equals(pc.list_value_length(other))
        return bool(sizes) and same_bits(one.flatten(), other.flatten())
    # Compared as integers: float equality would lose NaN payloads and the sign of zero.
    if pa.types.is_floating(one.type):
        kind = pa.int32() if one.type.bit_width == 32 else pa.int64()
        return bool(one.view(kind).equals(other.view(kind)))
    return bool(one.equals(other))


class Column:
    """The stored values of one field. Raises `LogDamaged` if one is missing."""

    def __init__(self, array: pa.Array, shape: Shape) -> None:
        if array.null_count:
            raise LogDamaged(f"{array.null_count} of {len(array)} stored values of kind {shape} are missing.")
        self._array = array
        self._shape = shape

    def __len__(self) -> int:
        return len(self._array)

    def values(self) -> list[Any]:
        return to_python(self._array, self._shape)

    def at(self, rows: NDArray[np.int64]) -> list[Any]:
        return to_python(self._array.take(pa.array(rows)), self._shape)

    def rows(self, rows: Sequence[int]) -> "Column":
        return Column(self._array.take(pa.array(rows, pa.int64())), self._shape)

    def codes(self) -> NDArray[np.int64]:
        """Return a small number for each value, from 0, equal for equal values. For plain values only."""
        codes: NDArray[np.int64] = self._encoded().indices.to_numpy().astype(np.int64)
        return codes

    def distinct(self) -> list[Any]:
        """Return the value of each code; some values may occur in no row here."""
        values: list[Any] = self._encoded().dictionary.to_numpy(zero_copy_only=False).tolist()
        return values

    def sizes(self) -> NDArray[np.int64]:
        """Return how many items each value has. For lists only."""
        sizes: NDArray[np.int64] = np.diff(self._array.offsets.to_numpy()).astype(np.int64)
        return sizes

    def items(self) -> "Column":
        """Return the items of all values, one after another. For lists only."""
        assert self._shape.item
        return Column(self._array.flatten(), self._shape.item)

    def part(self, name: str) -> "Column":
        """Return a member of all values. For parts only."""
        place = next(place for place, (member, _) in enumerate(self._shape.members) if member == name)
        return Column(self._array.flatten()[place], self._shape.members[place][1])

    def numbers(self) -> NDArray[np.int64]:
        numbers: NDArray[np.int64] = self._array.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
        return numbers

    @cached_property
    def _dictionary(self) -> pa.DictionaryArray:
        return self._array.dictionary_encode()

    def _encoded(self) -> pa.DictionaryArray:
        # Texts come from Parquet as dictionaries already; their indices are the codes.
        return self._array if pa.types.is_dictionary(self._array.type) else self._dictionary


def vectors_to_arrow(vectors: Sequence[bytes]) -> pa.Array:
    """Return little-endian float32 vectors as an array of lists of numbers, preserving every bit."""
    offsets = pa.array([0, *accumulate(len(vector) // 4 for vector in vectors)], pa.int32())
    numbers = pa.Array.from_buffers(pa.float32(), offsets[-1].as_py(), [None, pa.py_buffer(b"".join(vectors))])
    return pa.ListArray.from_arrays(offsets, numbers)


def vectors_to_python(array: pa.Array) -> list[bytes]:
    offsets = array.offsets.to_numpy().tolist()
    data = memoryview(array.values.to_numpy().view(np.uint8))
    return [bytes(data[4 * a : 4 * b]) for a, b in pairwise(offsets)]


@functools.cache
def event_maker(cls: type[Event], given: tuple[str, ...]) -> Callable[..., Event]:
    """Return a function of the `given` fields' values, in order, that makes an event; its other fields are None."""
    make: Callable[..., Event] = maker(cls, given, tuple(name for name in shapes_of(cls) if name not in given))
    return make


def default_of(cls: type[Event], name: str) -> Any:
    # A field may be newer than the segment.
    field = next(field for field in msgspec.structs.fields(cls) if field.name == name)
    return field.default if field.default is not msgspec.NODEFAULT else field.default_factory()


@functools.cache
def maker(cls: type[Any], given: tuple[str, ...], nones: tuple[str, ...]) -> Callable[..., Any]:
    # Compiled from text, as dataclasses do for `__init__`: five times faster than passing a dictionary per event.
    arguments = [f"{name}={name}" for name in given] + [f"{name}=None" for name in nones]
    make: Callable[..., Any] = eval(f"lambda {', '.join(given)}: cls({', '.join(arguments)})", {"cls": cls})
    return make


class Groups:
    """Rows grouped by the values of their columns: `of` [rows] is each row's group, `last` [groups] each group's last
    row."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = columns
        codes, bound = np.zeros(len(columns[0]), np.int64), 1
        for column in columns:
            more = column.codes()
            width = int(more.max(initial=0)) + 1
            # Renumber before the product of the widths overflows 64 bits.
            if bound * width >= 1 << 63:
                codes, bound = _numbered(codes), len(codes)
            codes, bound = codes * width + more, bound * width
        self.of = _numbered(codes)
        self.last = np.zeros(int(self.of.max(initial=-1)) + 1, np.int64)
        self.last[self.of] = np.arange(len(self.of))  # of several assignments to one place the last one wins

    @cached_property
    def keys(self) -> list[tuple[Any, ...]]:
        return list(zip(*(column.at(self.last) for column in self._columns), strict=True))

    def counts(self) -> list[int]:
        counts: list[int] = np.bincount(self.of, minlength=len(self.last)).tolist()
        return counts

    def sums(self, column: Column) -> list[int]:
        """Return the exact sum of a column of integers or truth values in each group."""
        numbers = column.numbers()
        largest = max(-int(numbers.min(initial=0)), int(numbers.max(initial=0)))
        # Sums stay exact: they are Python integers if 64 bits could overflow.
        fits = largest * len(numbers) < 1 << 63
        sums = np.zeros(len(self.last), np.int64 if fits else object)
        np.add.at(sums, self.of, numbers if fits else numbers.astype(object))
        return list(map(int, sums.tolist()))


def _numbered(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    numbered: NDArray[np.int64] = pa.array(codes).dictionary_encode().indices.to_numpy().astype(np.int64)
    return numbered
