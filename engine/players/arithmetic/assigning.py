"""Assign a column to each row so that the total worth is as large as possible.

Shortest augmenting paths, row by row. [Crouse 2016, On implementing 2D rectangular assignment algorithms, IEEE
Transactions on Aerospace and Electronic Systems 52(4)] Ties are broken as scipy's `linear_sum_assignment` breaks them.
"""

from collections.abc import Sequence
from math import inf


def assigned(worth: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """Return (row, column) pairs in the order of rows, one for each row or, if these are fewer, for each column."""
    if not worth or len(worth) <= len(worth[0]):
        return list(enumerate(_columns([[-each for each in row] for row in worth])))
    turned = [[-each for each in column] for column in zip(*worth, strict=True)]
    return sorted((row, column) for column, row in enumerate(_columns(turned)))


def _columns(cost: Sequence[Sequence[float]]) -> list[int]:
    """Return a column for each row, at the least total cost; there are at least as many columns as rows."""
    width = len(cost[0]) if cost else 0
    of_row, of_column = [0.0] * len(cost), [0.0] * width  # the dual variables
    column_of, row_of = [-1] * len(cost), [-1] * width
    for first in range(len(cost)):
        came_from, shortest = [-1] * width, [inf] * width
        left, seen, row, least, sink = list(range(width - 1, -1, -1)), [first], first, 0.0, -1
        while sink < 0:
            nearest, lowest = -1, inf
            for place, column in enumerate(left):
                reduced = least + cost[row][column] - of_row[row] - of_column[column]
                if reduced < shortest[column]:
                    came_from[column], shortest[column] = row, reduced
                if shortest[column] < lowest or (shortest[column] == lowest and row_of[column] < 0):
                    nearest, lowest = place, shortest[column]
            least, column = lowest, left[nearest]
            left[nearest] = left[-1]
            left.pop()
            if row_of[column] < 0:
                sink = column
            else:
                row = row_of[column]
                seen.append(row)
        of_row[first] += least
        for each in seen[1:]:
            of_row[each] += least - shortest[column_of[each]]
        for column in {*range(width)} - {*left}:
            of_column[column] -= least - shortest[column]
        column = sink
        while True:  # along the path back to the row that began it
            row = came_from[column]
            row_of[column], column_of[row], column = row, column, column_of[row]
            if row == first:
                break
    return column_of
