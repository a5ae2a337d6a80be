"""The settings of a served run: its address, the upstream, which memories go into requests, what is recorded."""

from typing import Annotated, Literal

import msgspec

from mage_es.engine.config import Amount
from mage_es.events.vocabulary.serving import Trust

SUFFIX = "-served"
"""The suffix that a served run's name adds to its parent's."""


class Serving(msgspec.Struct, frozen=True, kw_only=True):
    """What `mage-es serve` does; outside of that command each name of a setting begins with `serve_`."""

    upstream: str = ""
    """Upstream server, such as https://api.openai.com."""
    at: str = "latest"
    """State to serve: start, iter-9, latest."""
    run_id: str = ""
    """Run that records the serving. By default it is called RUN-served."""
    learn: Literal["off", "log", "propose"] = "log"
    """Feedback is refused, recorded, or may also propose memories."""
    trust: Trust = "full"
    """What feedback may do where there is no file of keys: with --learn propose, gold writes right answers, full those
    that anchors or a person must judge; scores only rates, none is only recorded."""
    keys: str = ""
    """File of keys: who may ask, and which run answers them; it is read again when it changes."""
    host: str = "127.0.0.1"
    """Address to listen at."""
    port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 8321
    """Port; 0: any free one."""
    holdback: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.05
    """Share of the sessions without memories."""
    record_texts: bool = False
    """Record questions and replies, not only their hashes."""
    min_similarity: float | Literal["auto"] = "auto"
    """Give no memories if even the nearest is farther than this: auto measures the run's own questions, 0 is off."""
    only_types: str = ""
    """Only questions of these task types get memories; all unless some are named."""
    max_note_tokens: Amount = 0
    """Token limit for the memories in a request: beyond it the farthest are left out; 0: no limit."""
    layout: Literal["auto", "turns", "lines", "sections"] = "auto"
    """How cases are put into requests, and into the anchors and exams of the run that records it: as turns of the chat,
    as plain lines or under headings; auto: as the run learned with them."""
    retrieval_timeout: Annotated[float, msgspec.Meta(ge=1, le=3_600_000)] = 50.0
    """Milliseconds after which a request is sent without memories."""
    publish_every: Annotated[float, msgspec.Meta(ge=0, le=525_600)] = 0.0
    """Minutes between publishes of what clients said; 0: never."""
    max_body: Annotated[float, msgspec.Meta(gt=0, le=4096)] = 64.0
    """MiB above which a request is refused."""
    access_log: bool = False
    """Print a line for each request: no keys, texts or query strings."""
