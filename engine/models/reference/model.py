"""The reference guidance tier behind the seam: a brief in, a typed reply out, by a table from brief to author.

Rules
    - It reads the last fenced JSON block of the prompt and nothing else.
    - Authors are pure functions of their brief; a new kind of brief needs one more line in the table.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from mage_es.engine.agents.briefs import (
    AnyBrief,
    Brief,
    FailureBrief,
    NavigatorBrief,
    OntologyBrief,
    PrinciplesBrief,
    RefinementBrief,
    RetrievalBrief,
    SplittingBrief,
    ToolsBrief,
)
from mage_es.engine.models.arithmetic.words import count_tokens
from mage_es.engine.models.reference.failures import author_failures
from mage_es.engine.models.reference.navigating import author_briefs
from mage_es.engine.models.reference.ontology import author_ontology
from mage_es.engine.models.reference.principles import author_principles
from mage_es.engine.models.reference.refinement import author_refinement
from mage_es.engine.models.reference.retrieval import author_recipe
from mage_es.engine.models.reference.splitting import author_split
from mage_es.engine.models.reference.tools import author_tools
from mage_es.engine.models.seam import Completion, Request
from mage_es.events.errors import UsageError

AUTHORS: dict[type[Brief], Callable[[Any], msgspec.Struct]] = {
    OntologyBrief: author_ontology,
    NavigatorBrief: author_briefs,
    FailureBrief: author_failures,
    PrinciplesBrief: author_principles,
    ToolsBrief: author_tools,
    RetrievalBrief: author_recipe,
    RefinementBrief: author_refinement,
    SplittingBrief: author_split,
}
"""Who answers which brief."""

_FENCE = re.compile(r"^```json\n(.*?)\n```\s*$", re.MULTILINE | re.DOTALL)


class Reference:
    """`builtin/reference`: authors what the guidance tier is asked for, from reference solutions."""

    name = "builtin/reference"

    async def complete(self, request: Request) -> Completion:
        """Return the reply to the prompt's brief as JSON.

        Raises:
            UsageError: the prompt holds no brief, or one that this model cannot answer.
        """
        brief = read_brief(request.prompt)
        text = msgspec.json.encode(AUTHORS[type(brief)](brief)).decode()
        return Completion(text=text, input_tokens=count_tokens(request.prompt), output_tokens=count_tokens(text))


def read_brief(prompt: str) -> Brief:
    """Return the brief in a guidance prompt.

    Raises:
        UsageError: there is none, or it is not one that this model knows.
    """
    blocks = _FENCE.findall(prompt)
    if not blocks:
        raise UsageError(
            "builtin/reference was asked without a brief: the prompt has no fenced json block."
            " It answers guidance prompts only; choose another model for free questions."
        )
    try:
        brief: Brief = msgspec.json.decode(blocks[-1], type=AnyBrief)
        return brief
    except msgspec.MsgspecError as error:
        raise UsageError(
            f"builtin/reference cannot answer this brief: {error} in {blocks[-1][:80]!r}."
            f" It knows: {', '.join(sorted(str(brief.__struct_config__.tag) for brief in AUTHORS))}."
        ) from error
