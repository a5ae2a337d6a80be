"""Reading a text that is a date and nothing else, so that 3/4/1841 and March 4, 1841 are recognised as the same.

A library of lenient date parsing would not do: it completes a single word or number with parts of today's date, so it
finds dates where there are none. Only the forms listed here count.
"""

from __future__ import annotations

import re
import time
from itertools import islice
from typing import NamedTuple

_FORMS = {
    "%Y": 1,
    "%Y-%m": 2,
    "%B %Y": 2,
    "%b %Y": 2,
    "%Y-%m-%d": 3,
    "%m/%d/%Y": 3,
    "%B %d %Y": 3,
    "%b %d %Y": 3,
    "%d %B %Y": 3,
    "%d %b %Y": 3,
}
"""Each form, and how many parts of a date it states: year, month, day."""
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b", re.IGNORECASE)
_YEAR = re.compile(r"(?<![\d.])\d{4}(?!\.?\d)")
_LONGEST = 32
_MOST_DATES = 20
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:tember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_IN_PROSE = re.compile(
    rf"\b(?:{_MONTH}\s[0-9]{{1,2}}(?:st|nd|rd|th)?,?\s[0-9]{{4}}|[0-9]{{1,2}}(?:st|nd|rd|th)?\s{_MONTH},?\s[0-9]{{4}}"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{1,2}/[0-9]{1,2}/[0-9]{4})",
    re.IGNORECASE,
)


class Date(NamedTuple):
    """Unstated parts are 0."""

    year: int
    month: int = 0
    day: int = 0

    def meets(self, wanted: Date) -> bool:
        """Return whether it agrees with the wanted date in all parts that the wanted one states."""
        stated = sum(1 for part in wanted if part)
        return self[:stated] == wanted[:stated]


def read_date(text: str) -> Date | None:
    """Month and day in American order."""
    if not _YEAR.search(text):  # quick exit: every form needs a year, and most answers have none
        return None
    plain = " ".join(_ORDINAL.sub("", text.replace(",", " ").replace("\u00a0", " ")).split()).rstrip(".")
    if len(plain) > _LONGEST or not plain.isascii():
        return None
    for form, parts in _FORMS.items():
        try:
            found = time.strptime(plain, form)
        except ValueError:
            continue
        return Date(*(found.tm_year, found.tm_mon, found.tm_mday)[:parts])
    return None


def dates_in(prose: str) -> list[str]:
    """Return the dates in a text that state a day, as they are written."""
    return [found[0] for found in islice(_IN_PROSE.finditer(prose), _MOST_DATES)]
