"""`builtin/truthguide`: a guidance tier for truthworld that writes by rule, from reference solutions."""

from __future__ import annotations

import msgspec

from mage_es.engine.models.arithmetic.words import count_tokens
from mage_es.engine.models.reference.model import read_brief
from mage_es.engine.models.seam import Completion, Request
from mage_es.engine.models.truthworld.authors import AUTHORS


class TruthGuide:
    """`builtin/truthguide`: authors what the guidance tier is asked for; it believes whatever solutions it is shown."""

    name = "builtin/truthguide"

    async def complete(self, request: Request) -> Completion:
        """Return the reply to the prompt's brief as JSON.

        Raises:
            UsageError: the prompt holds no brief that is known.
        """
        brief = read_brief(request.prompt)
        text = msgspec.json.encode(AUTHORS[type(brief)](brief)).decode()
        return Completion(text=text, input_tokens=count_tokens(request.prompt), output_tokens=count_tokens(text))
