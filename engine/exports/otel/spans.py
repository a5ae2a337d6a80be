"""A log's events as spans and verdicts, by OpenTelemetry's semantic conventions for generative AI; pure.

    invoke_agent Learner          a trace: a question from its plan (so with its wait for a worker) to its verdict
      search_memory               the ids of what its prompt shows, with their cosines
      chat MODEL                  a call, all its attempts included; of the judge, too
      execute_tool, retrieval     a tool that ran, a lookup
      gen_ai.evaluation.result    the verdict
    invoke_workflow PHASE         a trace: a phase of an iteration with the calls that are about no question
    POST /v1/...                  a request to a served run, with search_memory and the chat with the upstream

Rules
    - Ids follow from the log's own id and from those of its events: the same log gives the same spans.
    - Texts are exported only on request, and a subject's texts never: destroying the key would not reach the export.
    - Names that no convention defines begin with `mage_es.`.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple
from urllib.parse import parse_qs, urlsplit

from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as gen_ai
from opentelemetry.semconv.attributes import error_attributes, http_attributes, server_attributes, url_attributes

from mage_es.engine.seams.model import Request
from mage_es.events import vocabulary as v
from mage_es.events.facts.envelope import event_id, fact_id
from mage_es.events.facts.private import quotes_erased
from mage_es.projections.memory import MemoryRow

Attributes = Mapping[str, Any]
NO_TEXTS: Mapping[str, Attributes] = MappingProxyType({})
EVALUATION = "gen_ai.evaluation.result"
SEARCH_MEMORY = "search_memory"
# The package of conventions does not name these yet.
STORE, RECORDS, RECORD_COUNT = "gen_ai.memory.store.id", "gen_ai.memory.records", "gen_ai.memory.record.count"
QUERY = "gen_ai.memory.query.text"
_OPERATION = gen_ai.GEN_AI_OPERATION_NAME
_CHAT = gen_ai.GenAiOperationNameValues.CHAT.value
_EMBEDDINGS = gen_ai.GenAiOperationNameValues.EMBEDDINGS.value
_END_UNKNOWN = "mage_es.end_unknown"
"""On the spans of a request that was cut: they end where they begin, when it was recorded."""
_IN_PROCESS = ("builtin", "llamacpp", "vllm", "recorded")
_FINISHED = {"end": "stop", "refused": "content_filter", "truncated": "length", "looped": "length"}
_PATHS: Mapping[v.RequestShape, str] = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
    "search": "/mcp",
}


class TraceSpan(NamedTuple):
    """An operation; times are microseconds since 1970. `parent_id` is empty for the root of a trace, `error` if there
    was none. A trace id has 16 bytes, a span id 8."""

    trace_id: bytes
    span_id: bytes
    parent_id: bytes
    name: str
    kind: Literal["internal", "client", "server"]
    begin_us: int
    end_us: int
    attributes: Attributes
    error: str = ""


class TraceVerdict(NamedTuple):
    """A verdict on a span's operation, without the span's ids if they are unknown."""

    trace_id: bytes
    span_id: bytes
    at_us: int
    attributes: Attributes


class TraceTexts(NamedTuple):
    """The texts for spans: the request that was sent, and the texts of questions and memories by id."""

    request: Callable[[v.Sent], Request | None]
    questions: Mapping[str, str]
    memories: dict[str, Attributes]


class TraceIds(NamedTuple):
    """The ids of a request to a served run: its trace, the span of its client (empty for none) and its own spans."""

    trace_id: bytes
    parent_id: bytes
    request: bytes
    search: bytes
    chat: bytes


class Upstream(NamedTuple):
    """The run whose memories a served run has, and the address of the server that answers, empty if unknown."""

    run: str
    address: str


class _Group:
    """A question or a phase, which has spans below its own."""

    def __init__(self, trace_id: bytes, span_id: bytes, search_id: bytes, begin_us: int) -> None:
        self.trace_id, self.span_id, self.search_id, self.begin_us = trace_id, span_id, search_id, begin_us
        self.end_us = 0
        """When the last call below it ended, or 0."""


def traced(
    log_id: str, run: str, records: Iterable[v.Record], texts: TraceTexts | None = None
) -> Iterator[TraceSpan | TraceVerdict]:
    """Yield the spans and verdicts of a log's records, in order; with `texts`, also what was said."""
    tracing = Tracing(log_id, run, texts)
    for record in records:
        yield from tracing.take(record)
    yield from tracing.rest()


class Tracing:
    """Turns records into spans as they come; `rest` has the spans that the log leaves open."""

    def __init__(self, log_id: str, run: str, texts: TraceTexts | None = None) -> None:
        self._log_id, self._run, self._has_texts = log_id.encode(), run, texts is not None
        self._texts = texts or TraceTexts(lambda sent: None, {}, {})
        self._planned: dict[int, tuple[_Group, v.Record, v.QuestionPlanned]] = {}
        self._phases: dict[tuple[int, str], _Group] = {}
        self._failed: dict[tuple[str, ...], tuple[int, int]] = {}
        self._inferences: dict[str, tuple[TraceIds, v.InferenceOpened | None, int]] = {}
        self._upstream = Upstream(run, "")

    def take(self, record: v.Record) -> Iterator[TraceSpan | TraceVerdict]:
        """Yield the spans and verdicts that a record completes."""
        match record.event:
            case v.QuestionPlanned() as plan:
                self._planned[record.seq] = _Group(*self._ids(record.event_id), record.ts_us), record, plan
            case v.ModelCalled() | v.CallFailed() as call:
                yield from self._call(record, call)
            case v.EmbeddingCalled() as embedded:
                yield self._embedding(record, embedded)
            case v.ToolRan() as ran:
                yield self._tool(record, ran)
            case v.SearchAnswered() as found:
                yield self._lookup(record, found)
            case v.AnswerJudged() | v.AnswerUndecided() | v.AnswerUnanswered() as verdict:
                yield from self._settled(record, verdict)
            case v.PhaseCompleted(iteration=iteration, phase=phase):
                yield from self._ended(iteration, phase, record.ts_us)
            case v.ServingStarted(upstream=upstream):
                self._upstream = Upstream(self._run, upstream)
            case v.InferenceOpened() as opened:
                trace_id, request, search = self._ids(record.event_id)
                chat = self._ids(record.event_id, "chat")[1]
                chat = request if opened.shape == "search" else chat  # feedback is about the span of the call
                ids = TraceIds(trace_id, b"", request, search, chat)
                self._inferences[opened.inference] = ids, opened, record.ts_us
            case v.InferenceClosed() as closed if closed.inference in self._inferences:
                ids, begun, opened_us = self._inferences[closed.inference]
                self._inferences[closed.inference] = ids, None, opened_us  # its ids are for feedback
                # What the process was killed in is closed by the next one, which knows no more than that it had begun.
                end_us = opened_us if closed.outcome == "cut" else record.ts_us
                about = ids, begun, closed, end_us, self._upstream
                yield from inference_spans(*about, has_texts=self._has_texts, says=self._texts.memories)
            case v.FeedbackGiven() as said:
                known = self._inferences.get(said.inference)
                yield feedback_verdict(known and known[0], said, record.ts_us, has_texts=self._has_texts)
            case v.MemoryAppended() as memory if self._has_texts:
                self._texts.memories[memory.memory_id] = attributes_of(memory)

    def rest(self) -> Iterator[TraceSpan]:
        """Yield the spans that have not ended: questions, and phases with calls."""
        for group, record, plan in self._planned.values():
            if group.end_us:
                yield from self._question(group, record, plan, group.end_us, {})
        for iteration, phase in [*self._phases]:
            yield from self._ended(iteration, phase, self._phases[iteration, phase].end_us)

    def _ids(self, *of: bytes | str) -> tuple[bytes, bytes, bytes]:
        """Return a trace id and two span ids."""
        said = b"\0".join((self._log_id, *(each.encode() if isinstance(each, str) else each for each in of)))
        digest = hashlib.sha256(said).digest()
        return digest[:16], digest[16:24], digest[24:]

    def _group(self, record: v.Record, begin_us: int) -> _Group:
        """Return the parent of a record: the question of the plan that led to it, or else its phase."""
        if record.causation in self._planned:
            return self._planned[record.causation][0]
        key = record.iteration, record.phase
        if key not in self._phases:
            # Under the id of the mark that ends the phase, which may be still to come.
            ends = event_id(record.run, fact_id(*key, f"phase/{record.phase}", "phase.completed", 0))
            self._phases[key] = _Group(*self._ids(ends), begin_us)
        return self._phases[key]

    def _below(
        self,
        record: v.Record,
        name: str,
        begin_us: int,
        attributes: Attributes,
        *,
        kind: Any = "internal",
        error: str = "",
    ) -> TraceSpan:
        """Return a span that ends with a record, below what the record is about."""
        group = self._group(record, begin_us)
        group.begin_us, group.end_us = min(group.begin_us, begin_us), record.ts_us
        own = self._ids(record.event_id)[1]
        if error:
            attributes = {**attributes, error_attributes.ERROR_TYPE: error}
        return TraceSpan(group.trace_id, own, group.span_id, name, kind, begin_us, record.ts_us, attributes, error)

    def _call(self, record: v.Record, call: v.ModelCalled | v.CallFailed) -> Iterator[TraceSpan]:
        key = (call.tier, call.purpose, call.about, str(call.attempt), str(record.iteration), record.phase)
        begin_us, tries = self._failed.pop(key, (record.ts_us - call.latency_us, 0))
        if isinstance(call, v.CallFailed) and not call.final:
            self._failed[key] = begin_us, tries + 1
            return
        model, operation = _model(call.model), _CHAT if call.tier != "embedder" else _EMBEDDINGS
        said = {
            **model,
            _OPERATION: operation,
            gen_ai.GEN_AI_AGENT_NAME: call.agent,
            "mage_es.tier": call.tier,
            "mage_es.purpose": call.purpose,
            "mage_es.failed_attempts": tries + isinstance(call, v.CallFailed),
        }
        kind = "internal" if model[gen_ai.GEN_AI_PROVIDER_NAME] in _IN_PROCESS else "client"
        name = f"{operation} {model[gen_ai.GEN_AI_REQUEST_MODEL]}"
        if isinstance(call, v.CallFailed):
            fault = str(call.status) if call.status else call.fault
            yield self._below(record, name, begin_us, {**said, **self._asked(call.sent)}, kind=kind, error=fault)
            return
        finish = _FINISHED.get(call.stop_reason, call.stop_reason)
        said |= {
            gen_ai.GEN_AI_RESPONSE_FINISH_REASONS: [finish],
            gen_ai.GEN_AI_USAGE_INPUT_TOKENS: call.input_tokens,
            gen_ai.GEN_AI_USAGE_OUTPUT_TOKENS: call.output_tokens,
            **{name: value for name, value in _details(call) if value},
            **self._asked(call.sent),
        }
        if self._may_show(call.text):
            said[gen_ai.GEN_AI_OUTPUT_MESSAGES] = [_message("assistant", call.text, finish_reason=finish)]
        yield self._below(record, name, begin_us, said, kind=kind)

    def _may_show(self, *texts: str) -> bool:
        return self._has_texts and not any(map(quotes_erased, texts))

    def _says(self, name: str, role: str, text: str, **more: str) -> Attributes:
        """Return a message of one text, if texts are wanted and there is one that can be shown."""
        return {name: [_message(role, text, **more)]} if text and self._may_show(text) else {}

    def _asked(self, sent: v.Sent) -> Attributes:
        """Return the messages of a request, if texts are wanted and all of it can be shown."""
        request = self._texts.request(sent)
        if request is None or not self._may_show(request.text):
            return {}
        roles = ("user", "assistant")
        messages = [_message(roles[place % 2], text) for place, text in enumerate(request.messages)]
        system = {gen_ai.GEN_AI_SYSTEM_INSTRUCTIONS: [{"type": "text", "content": request.system}]}
        return {gen_ai.GEN_AI_INPUT_MESSAGES: messages, **(system if request.system else {})}

    def _embedding(self, record: v.Record, call: v.EmbeddingCalled) -> TraceSpan:
        model = _model(call.model)
        said = {
            **model,
            _OPERATION: _EMBEDDINGS,
            gen_ai.GEN_AI_USAGE_INPUT_TOKENS: call.input_tokens,
            "mage_es.failed_attempts": call.tries,
        }
        name = f"embeddings {model[gen_ai.GEN_AI_REQUEST_MODEL]}"
        return self._below(record, name, record.ts_us - call.latency_us, said, kind="client")

    def _tool(self, record: v.Record, ran: v.ToolRan) -> TraceSpan:
        said: dict[str, Any] = {
            _OPERATION: gen_ai.GenAiOperationNameValues.EXECUTE_TOOL.value,
            gen_ai.GEN_AI_TOOL_NAME: ran.tool_id,
            gen_ai.GEN_AI_TOOL_TYPE: "function",
        }
        if self._may_show(ran.arguments, ran.result):
            said |= {gen_ai.GEN_AI_TOOL_CALL_ARGUMENTS: ran.arguments, gen_ai.GEN_AI_TOOL_CALL_RESULT: ran.result}
        error = "tool_failed" if ran.problem else ""
        return self._below(record, f"execute_tool {ran.tool_id}", record.ts_us, said, error=error)

    def _lookup(self, record: v.Record, found: v.SearchAnswered) -> TraceSpan:
        source = found.search.partition("?")[0]
        said = {
            _OPERATION: gen_ai.GenAiOperationNameValues.RETRIEVAL.value,
            gen_ai.GEN_AI_DATA_SOURCE_ID: source,
            "mage_es.documents": len(found.texts),
        }
        if self._may_show(found.query):
            said[gen_ai.GEN_AI_RETRIEVAL_QUERY_TEXT] = found.query
        error = "lookup_failed" if found.problem else ""
        return self._below(record, f"retrieval {source}", record.ts_us, said, kind="client", error=error)

    def _settled(
        self, record: v.Record, verdict: v.AnswerJudged | v.AnswerUndecided | v.AnswerUnanswered
    ) -> Iterator[TraceSpan | TraceVerdict]:
        if record.causation not in self._planned:
            return
        group, planned, plan = self._planned.pop(record.causation)
        if isinstance(verdict, v.AnswerUnanswered):
            failed = {error_attributes.ERROR_TYPE: "unanswered"}
            yield from self._question(group, planned, plan, record.ts_us, failed)
            return
        said: dict[str, Any] = {gen_ai.GEN_AI_EVALUATION_NAME: "correctness"}
        match verdict:
            case v.AnswerJudged():
                said |= {
                    gen_ai.GEN_AI_EVALUATION_SCORE_VALUE: verdict.score_micro / v.MICRO,
                    gen_ai.GEN_AI_EVALUATION_SCORE_LABEL: "correct" if verdict.correct else "incorrect",
                    "mage_es.judge": verdict.judge.partition("?")[0],
                    **({gen_ai.GEN_AI_EVALUATION_EXPLANATION: verdict.reason} if verdict.reason else {}),
                }
            case v.AnswerUndecided():
                said |= {gen_ai.GEN_AI_EVALUATION_SCORE_LABEL: "undecided"}
        lacked = verdict.reason if isinstance(verdict, v.AnswerJudged) else ""
        finish = _FINISHED.get(lacked, "stop")
        shown = {**said, **self._says(gen_ai.GEN_AI_OUTPUT_MESSAGES, "assistant", verdict.answer, finish_reason=finish)}
        yield from self._question(group, planned, plan, record.ts_us, shown)
        said |= {"mage_es.question.id": plan.question_id}
        yield TraceVerdict(group.trace_id, group.span_id, record.ts_us, said)

    def _question(
        self, group: _Group, record: v.Record, plan: v.QuestionPlanned, end_us: int, ended: Attributes
    ) -> Iterator[TraceSpan]:
        """Yield the spans of a question and of its search; `ended` says how it ended."""
        asked = self._texts.questions.get(plan.question_id, "")
        said = {
            _OPERATION: gen_ai.GenAiOperationNameValues.INVOKE_AGENT.value,
            gen_ai.GEN_AI_AGENT_NAME: "Learner",
            "mage_es.iteration": plan.iteration,
            "mage_es.phase": record.phase,
            "mage_es.purpose": plan.purpose,
            "mage_es.question.id": plan.question_id,
            "mage_es.task_type": plan.task_type,
            "mage_es.skill": plan.skill,
            "mage_es.route": plan.routing_arm,
            **self._says(gen_ai.GEN_AI_INPUT_MESSAGES, "user", asked),
            **ended,
        }
        where, error = (group.trace_id, group.span_id), ended.get(error_attributes.ERROR_TYPE, "")
        yield TraceSpan(*where, b"", "invoke_agent Learner", "internal", group.begin_us, end_us, said, error)
        if not plan.is_bare:
            scores = {each.memory_id: each.similarity for each in plan.memories}
            shown = {**scores, **dict.fromkeys(plan.principles)}
            search = {**searched(self._run, shown, self._texts.memories), "mage_es.search_arm": plan.search_arm}
            search |= {QUERY: asked} if asked and self._may_show(asked) else {}
            at = (record.ts_us, record.ts_us)
            yield TraceSpan(group.trace_id, group.search_id, group.span_id, SEARCH_MEMORY, "internal", *at, search)

    def _ended(self, iteration: int, phase: str, end_us: int) -> Iterator[TraceSpan]:
        """Yield the span of a phase that had calls, and drop its questions that were not asked."""
        self._planned = {
            seq: each
            for seq, each in self._planned.items()
            if each[0].end_us or (each[1].iteration, each[1].phase) != (iteration, phase)
        }
        if group := self._phases.pop((iteration, phase), None):
            said = {
                _OPERATION: gen_ai.GenAiOperationNameValues.INVOKE_WORKFLOW.value,
                gen_ai.GEN_AI_WORKFLOW_NAME: phase,
                "mage_es.iteration": iteration,
                "mage_es.phase": phase,
            }
            where = group.trace_id, group.span_id
            yield TraceSpan(*where, b"", f"invoke_workflow {phase}", "internal", group.begin_us, end_us, said)


def inference_spans(
    ids: TraceIds,
    opened: v.InferenceOpened | None,
    closed: v.InferenceClosed,
    end_us: int,
    upstream: Upstream,
    *,
    shape: v.RequestShape = "chat",
    has_texts: bool = False,
    says: Mapping[str, Attributes] = NO_TEXTS,
) -> Iterator[TraceSpan]:
    """Yield the spans of a request to a served run; `says` gives the text of memories. A request that is not on record
    has no `opened`, only its `shape`."""
    shape = opened.shape if opened else shape
    begin_us, error = end_us - closed.latency_us, _error_of(closed)
    failed = {error_attributes.ERROR_TYPE: error} if error else {}
    said: dict[str, Any] = {
        "mage_es.run": upstream.run,
        http_attributes.HTTP_REQUEST_METHOD: "POST",
        url_attributes.URL_PATH: _PATHS[shape],
        **({http_attributes.HTTP_RESPONSE_STATUS_CODE: closed.status} if closed.status else {}),
        "mage_es.outcome": closed.outcome,
        **({_END_UNKNOWN: True} if closed.outcome == "cut" else {"mage_es.overhead_us": closed.overhead_us}),
        **failed,
    }
    model = {
        gen_ai.GEN_AI_PROVIDER_NAME: "anthropic" if shape == "messages" else "openai",
        **_address(upstream.address),
    }
    name = "chat"
    if opened:
        conversation = {gen_ai.GEN_AI_CONVERSATION_ID: opened.session}
        model |= {gen_ai.GEN_AI_REQUEST_MODEL: opened.model, **conversation}
        said |= {"mage_es.inference": opened.inference, "mage_es.treatment": opened.treatment, **conversation}
        name = f"chat {opened.model}" if opened.model else name
    used = {
        gen_ai.GEN_AI_USAGE_INPUT_TOKENS: closed.input_tokens,
        gen_ai.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: closed.cached_tokens,
        gen_ai.GEN_AI_USAGE_OUTPUT_TOKENS: closed.output_tokens,
    }
    model |= {_OPERATION: _CHAT, **failed, **({_END_UNKNOWN: True} if closed.outcome == "cut" else {})}
    model |= {key: count for key, count in used.items() if count >= 0}
    model |= {gen_ai.GEN_AI_RESPONSE_ID: closed.reply_id} if closed.reply_id else {}
    query = opened.question if has_texts and opened else ""
    texts = {gen_ai.GEN_AI_INPUT_MESSAGES: [_message("user", query)]} if query else {}
    if has_texts and opened and closed.reply:
        texts[gen_ai.GEN_AI_OUTPUT_MESSAGES] = [_message("assistant", closed.reply, finish_reason="unknown")]
    model |= texts
    said |= texts
    path, sent_us = _PATHS[shape], begin_us + closed.overhead_us
    yield TraceSpan(ids.trace_id, ids.request, ids.parent_id, f"POST {path}", "server", begin_us, end_us, said, error)
    if opened and (opened.arm or shape == "search"):
        near = [each or None for each in opened.similarities] or [None] * len(opened.memories)
        found = dict(zip(opened.memories, near, strict=True))
        search = {**searched(upstream.run, found, says), "mage_es.search_arm": opened.arm}
        search |= {"mage_es.nearest": opened.nearest, "mage_es.floor": opened.floor, "mage_es.marker": opened.marker}
        search |= {QUERY: query} if query else {}
        own = (ids.trace_id, ids.search, ids.request)
        yield TraceSpan(*own, SEARCH_MEMORY, "internal", begin_us, sent_us, search)
    if shape != "search":  # it calls no model
        yield TraceSpan(ids.trace_id, ids.chat, ids.request, name, "client", sent_us, end_us, model, error)


def feedback_verdict(
    ids: TraceIds | None, said: v.FeedbackGiven, at_us: int, *, has_texts: bool = False
) -> TraceVerdict:
    """Return a client's feedback on an inference, or on a session, as a verdict."""
    found: dict[str, Any] = {gen_ai.GEN_AI_EVALUATION_NAME: said.metric, gen_ai.GEN_AI_CONVERSATION_ID: said.session}
    if said.kind in ("bool", "float"):
        found[gen_ai.GEN_AI_EVALUATION_SCORE_VALUE] = said.value_micro / v.MICRO
    elif has_texts:
        found[gen_ai.GEN_AI_EVALUATION_EXPLANATION] = said.text
    return TraceVerdict(ids.trace_id if ids else b"", ids.chat if ids else b"", at_us, found)


def searched(run: str, shown: Mapping[str, float | None], says: Mapping[str, Attributes]) -> dict[str, Any]:
    """Return the attributes of a search: the ids that were found with their cosines, None for one without. A record's
    content, which its schema requires, is null where nothing `says` what is in the memory."""
    records = [
        {"id": name, "content": says.get(name) or None, **({} if score is None else {"score": score})}
        for name, score in shown.items()
    ]
    return {_OPERATION: SEARCH_MEMORY, STORE: run, RECORD_COUNT: len(records), RECORDS: records}


def attributes_of(memory: v.MemoryAppended | MemoryRow) -> Attributes:
    """Return the texts of a memory; none if one of them cannot be read here."""
    texts = {name: getattr(memory, name) for name in ("question", "recognise", "reasoning", "answer")}
    return {} if any(map(quotes_erased, texts.values())) else {name: text for name, text in texts.items() if text}


def _details(call: v.ModelCalled) -> Iterator[tuple[str, str | int]]:
    yield gen_ai.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS, call.cached_tokens
    yield gen_ai.GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS, call.cache_write_tokens
    yield gen_ai.GEN_AI_USAGE_REASONING_OUTPUT_TOKENS, call.thinking_tokens
    yield gen_ai.GEN_AI_RESPONSE_ID, call.provider_id
    yield gen_ai.GEN_AI_RESPONSE_MODEL, call.served_by


def _model(spec: str) -> dict[str, Any]:
    """Return provider, model and address of a spec, `provider/model?option=value`, or of a model of the user's own."""
    named, _, query = spec.partition("?")
    provider, _, model = named.partition("/")
    address = parse_qs(query).get("base_url", [""])[0]
    said = {gen_ai.GEN_AI_PROVIDER_NAME: provider, gen_ai.GEN_AI_REQUEST_MODEL: model or provider}
    return said | _address(address)


def _address(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    if not parts.hostname:
        return {}
    port = parts.port or {"https": 443}.get(parts.scheme, 80)
    return {server_attributes.SERVER_ADDRESS: parts.hostname, server_attributes.SERVER_PORT: port}


def _message(role: str, text: str, **more: str) -> Attributes:
    return {"role": role, "parts": [{"type": "text", "content": text}], **more}


def _error_of(closed: v.InferenceClosed) -> str:
    if closed.status >= 400:
        return str(closed.status)
    return closed.outcome if closed.outcome in ("failed", "left", "cut") else ""
