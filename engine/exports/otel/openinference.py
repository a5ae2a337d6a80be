"""Span attributes by OpenInference, the conventions of Phoenix and Arize that MLflow reads too. These tools also read
OpenTelemetry's conventions for generative AI, but with those they do not recognise a memory search, a phase or a
request.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as gen_ai

from mage_es.engine.exports.otel.spans import QUERY, RECORDS, SEARCH_MEMORY, Attributes, TraceSpan

_KINDS = {
    SEARCH_MEMORY: "RETRIEVER",
    gen_ai.GenAiOperationNameValues.INVOKE_AGENT.value: "AGENT",
    gen_ai.GenAiOperationNameValues.INVOKE_WORKFLOW.value: "CHAIN",
    None: "CHAIN",  # a request
}


def openinference(span: TraceSpan) -> Attributes:
    """Return a span's kind, what went in and came out as plain texts, and the memories that a search found; nothing for
    a model or tool call, whose messages these would hide."""
    said = span.attributes
    kind = _KINDS.get(said.get(gen_ai.GEN_AI_OPERATION_NAME))
    return {"openinference.span.kind": kind, **dict(_texts(said)), **dict(_documents(said))} if kind else {}


def _texts(said: Attributes) -> Iterator[tuple[str, str]]:
    asked = said.get(QUERY) or _last(said.get(gen_ai.GEN_AI_INPUT_MESSAGES))
    for name, text in (("input.value", asked), ("output.value", _last(said.get(gen_ai.GEN_AI_OUTPUT_MESSAGES)))):
        if text:
            yield name, text


def _last(messages: Sequence[Mapping[str, Any]] | None) -> str:
    return messages[-1]["parts"][-1]["content"] if messages else ""


def _documents(said: Attributes) -> Iterator[tuple[str, str | float]]:
    """Yield what a search found, once in OpenInference's form, and once whole, in MLflow's form of documents."""
    documents = []
    for place, record in enumerate(said.get(RECORDS, ())):
        own = {name: record[name] for name in ("id", "score") if name in record}
        text = "\n\n".join((record["content"] or {}).values())
        documents.append({"page_content": text, "metadata": own})
        for name, value in {**own, **({"content": text} if text else {})}.items():
            yield f"retrieval.documents.{place}.document.{name}", value
    if documents:
        yield "output.value", msgspec.json.encode(documents).decode()
        yield "output.mime_type", "application/json"
