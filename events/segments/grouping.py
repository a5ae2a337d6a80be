"""Rows of columns that have equal values, found without making Python objects of the values."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mage_es.events.segments.columns import Column


class Groups:
    """Rows by what their columns hold: `of` [rows] is each row's group, `last` [groups] each group's last row."""

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
        # Sums stay exact: Python integers if 64 bits could overflow.
        fits = largest * len(numbers) < 1 << 63
        sums = np.zeros(len(self.last), np.int64 if fits else object)
        np.add.at(sums, self.of, numbers if fits else numbers.astype(object))
        return list(map(int, sums.tolist()))


def _numbered(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    numbered: NDArray[np.int64] = pa.array(codes).dictionary_encode().indices.to_numpy().astype(np.int64)
    return numbered
