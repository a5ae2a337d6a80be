"""`vllm/<model or folder>`: vLLM in this process, with all questions of a phase batched by its own scheduler.

Rules
    - The engine starts with the first call and is shut down with `close`; a log or a replay never needs it.
    - A prompt goes through the model's chat template; what a template marks as thinking is not part of the answer.
    - Even greedy decoding on a GPU may differ from batch to batch; replies are recorded, so a replay does not differ.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import msgspec

from mage_es.engine.providers.clients import SYSTEMS, require_package, template_of, text_and_thinking
from mage_es.engine.seams.faults import Fault, ModelFault, shortened
from mage_es.engine.seams.model import Completion, Preflight, Request, chat_of, stop_of
from mage_es.engine.seams.spec import ModelSpec
from mage_es.events.errors import PrerequisiteError

if TYPE_CHECKING:
    from vllm.v1.engine.async_llm import AsyncLLM


class VllmEngine(Preflight):
    """Options: `dtype`, `max_model_len`, `gpu_memory_utilization`, `tensor_parallel_size` and `seed`, as in vLLM;
    `eager`: on or off; `thinking`: auto (default), on, off, or tokens to think in, for templates that support it;
    `system`: `apart` (default), or `joined` to the user's message.
    """

    OPTIONS = (
        *("dtype", "max_model_len", "gpu_memory_utilization", "tensor_parallel_size"),
        *("eager", "seed", "thinking", "system"),
    )

    def __init__(self, spec: ModelSpec) -> None:
        require_package(spec, "vllm")
        self.name = spec.text
        self.spec = spec
        self._engine: AsyncLLM | None = None
        self._numbers = itertools.count()
        self._arguments = _engine_arguments(spec)
        self._thinking = spec.thinking()
        self._joined = spec.chosen("system", SYSTEMS) == "joined"

    async def complete(self, request: Request) -> Completion:
        engine = self._engine = self._engine or self._start()
        tokenizer = engine.get_tokenizer()
        chat, template = chat_of(request, joined=self._joined), template_of(self._thinking, request)
        tokens = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=False, **template)
        room = engine.model_config.max_model_len - len(tokens)
        if room < 1:
            raise ModelFault(
                Fault(
                    "too_long",
                    f"a prompt of {len(tokens)} tokens, but at most {engine.model_config.max_model_len} fit",
                )
            )
        output = None
        try:
            name = f"call-{next(self._numbers)}"
            async for grown in engine.generate({"prompt_token_ids": tokens}, self._sampling(request, room), name):
                output = grown
        except ValueError as error:
            raise ModelFault(Fault("rejected", shortened(str(error)))) from None
        return _completion(output)

    def context(self) -> int:
        return self.spec.whole("max_model_len", 0)

    async def close(self) -> None:
        if self._engine is not None:
            self._engine.shutdown()
            self._engine = None

    def _start(self) -> AsyncLLM:
        from vllm.engine.arg_utils import AsyncEngineArgs
        from vllm.v1.engine.async_llm import AsyncLLM

        try:
            return AsyncLLM.from_engine_args(AsyncEngineArgs(model=self.spec.model, **self._arguments))
        except (OSError, RuntimeError, ValueError) as error:
            raise PrerequisiteError(f"vLLM cannot start {self.spec.model}: {shortened(str(error))}.") from error

    def _sampling(self, request: Request, room: int) -> Any:
        from vllm import SamplingParams
        from vllm.sampling_params import StructuredOutputsParams

        typed = None
        if request.reply_schema:
            typed = StructuredOutputsParams(json=msgspec.json.decode(request.reply_schema))
        return SamplingParams(
            temperature=request.temperature,
            max_tokens=min(request.max_tokens, room),
            seed=self.spec.whole("seed", 0) + request.sample,
            structured_outputs=typed,
        )


def _completion(output: Any) -> Completion:
    if output is None or not output.finished:
        raise ModelFault(Fault("connection", "the engine stopped before the reply was whole"))
    reply = output.outputs[0]
    text, thinking = text_and_thinking(reply.text, "", output_tokens=len(reply.token_ids), reported=None)
    return Completion(
        text=text,
        input_tokens=len(output.prompt_token_ids),
        output_tokens=len(reply.token_ids),
        cached_tokens=output.num_cached_tokens or 0,
        thinking_tokens=thinking,
        stop_reason=stop_of("length" if reply.finish_reason == "length" else "end", reply.text),
        provider_id=output.request_id,
    )


def _engine_arguments(spec: ModelSpec) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "dtype": spec.options.get("dtype", "auto"),
        "enforce_eager": spec.is_on("eager"),
        # For typed replies: without this a weak model may fill them with blanks up to the last token.
        "structured_outputs_config": {"backend": "xgrammar", "disable_any_whitespace": True},
    }
    for name in ("max_model_len", "tensor_parallel_size"):
        if name in spec.options:
            arguments[name] = spec.whole(name, 0)
    if "gpu_memory_utilization" in spec.options:
        arguments["gpu_memory_utilization"] = spec.number("gpu_memory_utilization", 0.9)
    return arguments
