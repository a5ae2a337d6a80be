"""How long the prompts of the execution tier are, in estimated tokens (engine/seams/tokens.py).

    python -m tests.bench.prompts          a few seconds

Per benchmark and template: the prompt of one short question with nothing known, the same with three memories of each
kind and a refined skill, and the part of it that is the same for all questions (the system message).
"""

from collections.abc import Iterator
from itertools import chain

from mage_es.engine.seams.tokens import estimated_tokens
from tests.engine.rules.composed import KINDS, Composed, episodes, questions


def main() -> None:
    """Print a row for each benchmark and template."""
    print("| benchmark | template | nothing known | three memories of each kind | of them the system message |")
    print("|---|---|---|---|---|")
    bare, full = (list(_everything(kinds)) for kinds in ((), KINDS))
    for one, other in zip(bare, full, strict=True):
        for template, request in one.requests.items():
            known = other.requests[template]
            sizes = (estimated_tokens(text) for text in (request.text, known.text, known.system))
            print(f"| {one.benchmark} | {template} | {' | '.join(map(str, sizes))} |")


def _everything(kinds: tuple[str, ...]) -> Iterator[Composed]:
    return chain(questions(kinds, is_refined=bool(kinds)), episodes(kinds, is_refined=bool(kinds)))


if __name__ == "__main__":
    main()
