"""Rows of columns that have equal values, found without making Python objects of the values."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mage_es.events.columns import Column


class Groups:
    """The rows of n columns by what these hold: `of` [rows] is each row's group, `last` [groups] each group's last row.

    Groups are numbered in the order of their first rows.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = columns
        codes, bound = np.zeros(len(columns[0]), np.int64), 1
        for column in columns:
            more = column.codes()
            width = int(more.max(initial=0)) + 1
            if bound * width >= 1 << 63:
                codes, bound = _numbered(codes), len(codes)
            codes, bound = codes * width + more, bound * width
        self.of = _numbered(codes)
        self.last = np.zeros(int(self.of.max(initial=-1)) + 1, np.int64)
        self.last[self.of] = np.arange(len(self.of))  # of several assignments to one place the last one stands

    @cached_property
    def keys(self) -> list[tuple[Any, ...]]:
        """The values of the columns in each group."""
        return list(zip(*(column.at(self.last) for column in self._columns), strict=True))

    def counts(self) -> list[int]:
        """Return the number of rows of each group."""
        counts: list[int] = np.bincount(self.of, minlength=len(self.last)).tolist()
        return counts

    def sums(self, column: Column) -> list[int]:
        """Return the exact sum of a column of integers or truth values in each group."""
        numbers = column.numbers()
        largest = max(-int(numbers.min(initial=0)), int(numbers.max(initial=0)))
        fits = largest * len(numbers) < 1 << 63
        sums = np.zeros(len(self.last), np.int64 if fits else object)
        np.add.at(sums, self.of, numbers if fits else numbers.astype(object))
        return list(map(int, sums.tolist()))


def _numbered(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return codes from 0 on without a gap, equal where the given ones are."""
    numbered: NDArray[np.int64] = pa.array(codes).dictionary_encode().indices.to_numpy().astype(np.int64)
    return numbered
