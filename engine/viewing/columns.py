"""Columns of long tables, each as a sequence that takes a few bytes a row."""

from __future__ import annotations

from abc import abstractmethod
from array import array
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.integer[Any]]


class _Column(Sequence[Any]):
    """A sequence whose items come from `cut`."""

    @overload
    def __getitem__(self, place: int) -> Any: ...
    @overload
    def __getitem__(self, place: slice) -> list[Any]: ...
    def __getitem__(self, place: int | slice) -> Any:
        return self.cut(*place.indices(len(self))[:2]) if isinstance(place, slice) else self.one(place)

    @abstractmethod
    def cut(self, first: int, end: int) -> list[Any]:
        """Return the values from row `first` up to row `end`."""

    def one(self, row: int) -> Any:
        row = row if row >= 0 else len(self) + row
        if not 0 <= row < len(self):
            raise IndexError(row)
        (found,) = self.cut(row, row + 1)
        return found


class Numbers(_Column):
    """Integers or None, in an array of one kind, whose least value means None."""

    def __init__(self, values: array[int] | Integers | None = None) -> None:
        self._values: Any = array("q") if values is None else values
        self._none = -1 << (8 * self._values.itemsize - 1)

    def __len__(self) -> int:
        return len(self._values)

    def __setitem__(self, row: int, value: int | None) -> None:
        self._values[row] = self._none if value is None else value

    def append(self, value: int | None) -> None:
        self._values.append(self._none if value is None else value)

    def extend(self, values: Iterable[int | None]) -> None:
        self._values.extend([self._none if value is None else value for value in values])

    def cut(self, first: int, end: int) -> list[Any]:
        none = self._none
        return [None if value == none else value for value in self._values[first:end].tolist()]

    def one(self, row: int) -> int | None:
        value = int(self._values[row])
        return None if value == self._none else value

    def numbers(self) -> Integers:
        """Return the array; it may not be appended to while this is in use."""
        return np.asarray(self._values)


class Codes(_Column):
    """Values with many repeats, each kept once."""

    def __init__(self, codes: Integers | None = None, of: Iterable[Hashable] = ()) -> None:
        self._codes: Any = array("i") if codes is None else codes
        self._of = list(of)
        self._places = {value: place for place, value in enumerate(self._of)}

    def __len__(self) -> int:
        return len(self._codes)

    def __setitem__(self, row: int, value: Hashable) -> None:
        self._codes[row] = self._place(value)

    def append(self, value: Hashable) -> None:
        self._codes.append(self._place(value))

    def extend(self, values: Iterable[Hashable]) -> None:
        self._codes.extend(list(map(self._place, values)))

    def cut(self, first: int, end: int) -> list[Any]:
        return list(map(self._of.__getitem__, self._codes[first:end].tolist()))

    def one(self, row: int) -> Any:
        return self._of[self._codes[row]]

    def among(self, *values: Hashable) -> NDArray[np.bool_]:
        """Return for each row whether it has one of these values."""
        return np.isin(np.asarray(self._codes), [place for value, place in self._places.items() if value in values])

    def _place(self, value: Hashable) -> int:
        place = self._places.get(value)
        if place is None:
            place = self._places[value] = len(self._of)
            self._of.append(value)
        return place


class PackedTexts(_Column):
    """Texts in one row of bytes."""

    def __init__(self) -> None:
        self._data, self._ends = bytearray(), array("q", [0])

    def __len__(self) -> int:
        return len(self._ends) - 1

    def extend(self, texts: Iterable[str]) -> None:
        for text in texts:
            self._data += text.encode()
            self._ends.append(len(self._data))

    def append(self, text: str) -> None:
        self.extend((text,))

    def cut(self, first: int, end: int) -> list[Any]:
        ends = self._ends[first : end + 1]
        return [self._data[a:b].decode() for a, b in pairwise(ends)]


class Borrowed(_Column):
    """Texts that mostly repeat another column: each is a text of its own, or a row there, with a prefix."""

    def __init__(self, of: Sequence[str], prefix: str = "") -> None:
        self._of, self._prefix, self._own, self._rows = of, prefix, list[str](), array("q")

    def __len__(self) -> int:
        return len(self._rows)

    def __setitem__(self, row: int, text: str) -> None:
        self._rows[row] = self._keep(text)

    def extend(self, texts: Iterable[str | int]) -> None:
        self._rows.extend([self._keep(text) if isinstance(text, str) else text for text in texts])

    def append(self, text: str | int) -> None:
        self.extend((text,))

    def cut(self, first: int, end: int) -> list[Any]:
        return [f"{self._prefix}{self._of[row]}" if row >= 0 else self._own[-1 - row] for row in self._rows[first:end]]

    def _keep(self, text: str) -> int:
        self._own.append(text)
        return -len(self._own)


class Made(_Column):
    """Values that are computed for a range of rows when they are asked for."""

    def __init__(self, rows: int, make: Callable[[int, int], list[Any]]) -> None:
        self._rows, self._make = rows, make

    def __len__(self) -> int:
        return self._rows

    def cut(self, first: int, end: int) -> list[Any]:
        return self._make(first, end)


class RowsByNumber:
    """A row for each number from 0, or none: a mapping of a few bytes an entry."""

    def __init__(self) -> None:
        self._rows = array("i")

    def get(self, key: int) -> int | None:
        return self._rows[key] if key < len(self._rows) and self._rows[key] >= 0 else None

    def __setitem__(self, key: int, row: int) -> None:
        self._rows.extend([-1] * (key + 1 - len(self._rows)))
        self._rows[key] = row
