"""The configuration of a run: every constant of the paper with its symbol and place, and our own.

It is one frozen struct with a canonical JSON form. Its hash is in the run's first event. A run cannot be resumed with a
different configuration; the error shows the difference.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from fractions import Fraction
from typing import Annotated, Any, Literal

import msgspec

from mage_es.events.digests import sha256_text
from mage_es.events.errors import PrerequisiteError, UsageError, nearest

MOST = 10_000_000
"""More questions, iterations, tokens or passages than anyone needs: a larger number is a typo."""
Count = Annotated[int, msgspec.Meta(ge=1, le=MOST)]
MOST_WORKERS = 4096
"""Most questions worked on at the same time: each takes memory in this process, whatever the provider allows."""
Seed = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Amount = Annotated[int, msgspec.Meta(ge=0, le=MOST)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Ratio = Annotated[str, msgspec.Meta(pattern=r"^\d+(/[1-9]\d*)?$")]

BENCHMARK = "benchmark"
"""As a model's name, this means the benchmark's own. `benchmarks.registry.with_own_models` replaces it before a run
records it."""


PLACES = (
    "mage_es.Config has what decides a result, mage_es.Runtime how a process works (its `limits`, mage_es.Limits, what "
    "it may use), and a verb takes names, folders, tasks and models: mage_es.evolve(config, run_id='first', "
    "runtime=mage_es.Runtime(workers=16))."
)
"""Where each setting belongs in Python."""


class NamedSettings(msgspec.StructMeta):
    """The class of a struct that a user makes: a name that is not its own is a `UsageError` that says where it may
    belong."""

    def __call__(cls, *args: Any, **given: Any) -> Any:
        try:
            return super().__call__(*args, **given)
        except TypeError as error:
            known = cls.__struct_fields__
            if not (unknown := next((name for name in given if name not in known), "")):
                raise UsageError(f"mage_es.{cls.__name__}: {error}; give each setting by its name.") from None
            near = nearest(unknown, list(known)) if get_close_matches(unknown, known) else ""
            raise UsageError(f"mage_es.{cls.__name__} has no setting {unknown!r}.{near} {PLACES}") from None


class Config(msgspec.Struct, metaclass=NamedSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that decides what a run does. How fast it runs (workers, progress) is not part of it."""

    benchmark: str
    """Name of the benchmark."""
    seed: Seed = 42
    """Seed of the splits, of every draw, and of a generated benchmark."""
    iterations: Count = 20
    """Number of iterations; paper, hyperparameter table: 20 (reasoning)."""
    pool: Count = 200
    """Questions per iteration; paper, hyperparameter table."""
    held_out: Count = 200
    """Questions of the exam; paper, section 4.1."""
    anchors: Amount = 100
    """Questions of the guard's anchor set; at most 15 % of the evolution pool."""

    execution: str = "benchmark"
    """The frozen model that answers and explores, as provider/model; `benchmark`: the benchmark's own."""
    guidance: str = "benchmark"
    """The model that writes to the graph in evolution; `benchmark`: the benchmark's own. Never called in an exam."""
    judge: str = "benchmark"
    """The model that scores what no rule settles, as provider/model; `benchmark`: the benchmark's; "": none."""
    embedder: str = "hash"
    """What turns questions into vectors: hash, sentence-transformers/<name or folder>, openai/<model>?base_url=URL;
    `paper`: all-MiniLM-L6-v2 if it can be loaded, else hash, which the start of the run reports."""
    teacher_sees: Literal["model", "errors", "answers", "solutions"] = "model"
    """What the guidance model is shown: `errors` (question, reply, verdict), `answers` (and the right answer),
    `solutions` (and the data set's own: worked solutions, oracle paths, gold paragraphs, programs); `model`: what it
    needs, which is `solutions` for embedded teachers and `answers` for all others."""
    guidance_context: Amount = 12_000
    """Most tokens of a prompt for the guidance model, by an upper estimate; fewer if its server has less room."""
    scorer_seconds: Annotated[float, msgspec.Meta(gt=0, le=3600)] = 10.0
    """How long a scorer of yours, MODULE:FUNCTION or a Python function, may take for one reply; a resumed run may
    be given another."""
    search: str = ""
    """What is looked up for each question before it is answered, and where ReAct looks: record (a question's own
    paragraphs), local/FOLDER, wikipedia?base_url=URL; "": nothing."""
    search_passages: Count = 3
    """Passages that a search puts before a question."""
    task_types: Literal["benchmark", "input", "gold"] = "benchmark"
    """`benchmark`: its metadata, else types that guidance induces from texts; `input`: by neighbours among questions
    whose type is known; `gold`: the paper's practice."""

    mastery_increase: Share = 0.6
    """alpha, Eq. 2."""
    mastery_decay: Share = 0.1
    """gamma, Eq. 2."""
    mastery_threshold: Share = 0.5
    """theta, section 3.4: a skill at or above it counts as mastered."""
    frontier_estimator: Literal["ratchet", "lower_bound"] = "ratchet"
    """How mastery is read off the answers; the paper's is the ratchet of Eq. 2."""

    recency_weight: Ratio = "3/10"
    """lambda, Eq. 1, as an exact fraction."""
    targets: Count = 3
    """M, Eq. 1: task types that EVOLVE writes for in an iteration."""
    failure_signal: Literal["rate", "window", "open", "cumulative"] = "rate"
    """What n_fail(t) of Eq. 1 counts: failures per attempt or failures (the paper's words) of this iteration, failures
    since the type was last selected, or all failures ever, which can starve types."""
    failure_memories_per_target: Count = 3
    """Most failure memories authored for a target in an iteration."""
    refresh_gap: Count = 5
    """Memory refresh gap in iterations; paper, hyperparameter table."""
    principles_per_skill: Amount = 12
    """Newest principles of a skill that are active in prompts; hyperparameter table. What is stored is not capped."""

    bundle: Amount = 5
    """K, section 3.5: most memories in a prompt; the paper's is 3."""
    retrieval: Literal["nearest", "cosine", "quotas"] = "nearest"
    """What is retrieved if no bandit chooses: the nearest cases, right or missed alike, or the paper's quotas of
    success and failure memories (`balanced`), section 3.5. `cosine` always ranks by the cosine. So does `nearest`,
    unless answers are labels or short and a metric or a regression learned from the cases finds more
    (rules/metric.py)."""
    form: Literal["usual", "turns", "worked", "lines", "sections", "auto"] = "usual"
    """How a prompt shows cases. `turns`: as turns of the chat, each a question and its right answer; `worked`: as
    turns, but only of cases that show how their answer was reached; `lines`: as plain `Q:` and `A:` lines in one
    message; `sections`: quoted under headings, as in the paper. `usual`: turns, or worked where a trial of at most 30
    calls on anchors shows that it is better, or where guidance wrote corrections and there are too few anchors for a
    trial; `auto`: as `usual`, but where there is no such trial, one of lines. Episodes always have sections."""
    route: Literal["auto", "direct", "cot"] = "auto"
    """How a question is asked if no bandit chooses: for the answer alone, or with reasoning; `auto`: for the answer
    alone if answers are labels, or are short and follow a rule of your own that no worked solution states."""
    long_context: Amount = 500
    """Characters of context above which the bundle is failure-heavy, section 3.5; hyperparameter table."""
    strategy_floor: Share = 0.0
    """Least cosine for a type strategy; the paper's is 0.55; 0: relative to how near its own type's questions are to
    it."""
    reasoning_cap: Count = 2000
    """Characters of the learner's reasoning kept in a success memory, cut at a line break."""

    cascade_principles: bool = False
    """Cascade part A, appendix "Cascade-Retrieval Components": principles of all prerequisite skills."""
    cascade_action_recipes: bool = True
    """Cascade part B: the last actions before an achievement, quoted."""
    cascade_plan: bool = False
    """Cascade part C: the goal's sub-skills as an explicit plan."""
    cascade_frontier: bool = False
    """Cascade part D: the next frontier skill takes the place of a mastered one. A, C and D had no measurable effect
    (tests/bench/parts.py) and are on only in the preset `paper`."""

    recall: bool = True
    """Answer a question by its nearest cases, without a call, if many questions share their answers and the cases were
    right on the questions learned from at least as often as the model."""
    bandits: bool = False
    """Learn which arm to pull, section 3.2, from rewards of different questions; off: always `retrieval` and `route`.
    Principles, tools and retrieval recipes are read, and so written, only by arms of the bandits."""
    coin: Share = 0.0
    """Share of the memories retrieved for an evolution question that are left out of its prompt, at random and on
    record, so that a memory's worth can be measured without bias; not in episodes, which retrieve at every step."""
    exploration: Share = 0.02
    """Probability of a uniform arm."""
    warmup: Amount = 0
    """Pulls of each arm before Thompson sampling; the paper's is 20; 0: a quarter of the key's expected pulls."""
    split_discount: Share = 0.5
    """Share of a skill's posteriors with which the skills that are split from it begin."""

    guard: Literal["paired", "paper", "off"] = "paired"
    """What a snapshot is rolled back by: answers to the same anchors, or raw accuracies of consecutive iterations on
    different questions (Algorithm 1)."""
    early_stopping: bool = True
    """End the run once all anchors, 20 or more, were right in two iterations in a row: the guard could not see a
    gain."""
    guard_drop: Share = 0.03
    """delta, Algorithm 1: drop against the previous accepted snapshot."""
    guard_p: Share = 0.04
    """A drop counts if the paired test's one-sided p is at most this."""
    catastrophic_drop: Share = 0.05
    """Catastrophic-rollback threshold, hyperparameter table: drop against the best accepted snapshot."""
    catastrophic_p: Share = 0.001
    """The same for the catastrophic drop."""

    gate: Literal["paired", "off"] = "paired"
    """What is served, in exams too, where more anchors are right with the bare prompt than with what was learned:
    `paired`: the bare prompt; `off`: what was learned anyway, as in the paper. See rules/benefit.py."""
    gate_p: Share = 0.25
    """Where what was learned loses over all types together, it is still served to a type whose own paired test has a
    one-sided p of at most this."""

    revisit_cap: Amount = 0
    """Most earlier failures asked again in an iteration, and at most half of the pool; appendix, table of revisits.
    If this is 0, questions are asked again only once all have been asked."""
    revisit_self: Literal["exclude", "include"] = "exclude"
    """Whether a revisited question may retrieve memories of itself (the paper's practice)."""

    explore_episodes: Amount = 8
    """Episodes that the Explorer plays in an iteration of a sequential benchmark."""
    episode_steps: Count = 500
    """Most steps of an episode, even if the environment allows more; paper, Crafter: 500."""
    episode_history: Amount = 16
    """Earlier steps of an episode that a step's prompt shows, as in the Crafter protocol."""

    answer_temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] = 0.0
    """Temperature of the answering calls; paper, hyperparameter table (evaluation)."""
    exploration_temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] = 0.3
    """Temperature of the Explorer's calls; paper, hyperparameter table (training)."""
    max_tokens: Count = 4096
    """Most tokens of a reply, thinking included; twice as many once a reply was cut."""

    cases: bool = True
    """Keep every question that was missed as a case with its right answer, as far as `teacher_sees` shows it; off: only
    what guidance corrects, as in the paper."""
    success_memories: bool = True
    """Harvest correct answers as success memories, section 3.2; off: the paper's ablation."""
    decompositions: bool = False
    """Keep the steps of an answer that was reached as a chain, and show them with it, section 3.2; it had no measurable
    effect, and is kept for the preset `paper`."""
    failure_memories: bool = True
    """Author failure memories from wrong answers, section 3.2. Where `cases` keeps each miss, they are asked for
    only if prompts show how a case was reached."""
    strategies: bool = False
    """Author failure memories of whole task types, too, which prompts show as notes, section 3.2; they had no
    measurable effect, and are kept for the preset `paper`."""
    principles: bool = True
    """Extract principles in EVOLVE, with `bandits`, which alone use them; off: the route `cot_principles` is not
    offered."""
    tools: bool = True
    """Author dynamic tools in EVOLVE, with `bandits`, which alone use them; off: the route `tool` is never offered."""
    prompt_refinement: bool = False
    """Refine prompt templates and strategies in EVOLVE; it had no measurable effect beside cases, for 1.4 times the
    tokens of a prompt, and is kept for the preset `paper`."""
    skill_splitting: bool = True
    """Split skills in EVOLVE, if there are several task types."""
    retrieval_recipes: bool = True
    """Author retrieval recipes in EVOLVE, with `bandits`, which alone use them; off: the search arm `recipe` is never
    offered."""
    unread: bool = False
    """Also ask guidance for texts that nothing in the run reads (rules/writings.py), so that calls are the paper's."""


SHOWN: Mapping[str, str] = {
    "errors": "no right answers",
    "model": "the right answers",
    "answers": "the right answers",
    "solutions": "the right answers, and solutions where the data has any",
}
"""What `teacher_sees` lets guidance see, in words."""


def canonical(config: Config) -> str:
    return msgspec.json.encode(config, order="sorted").decode()


def fingerprint(config: Config) -> str:
    return sha256_text(canonical(config))


def parse(text: str) -> Config:
    """Return the configuration of a run, as `canonical` wrote it.

    Raises:
        PrerequisiteError: It is of another version, whose settings have other names or values.
    """
    try:
        return msgspec.json.decode(text, type=Config)
    except msgspec.ValidationError as error:
        raise PrerequisiteError(
            f"The run was started by a version of mage-es with other settings: {error}. Use the release that started "
            "it (package_version in `mage-es show seq:1 RUN`), or start a new run."
        ) from error


def checked(config: Config) -> Config:
    """Return the configuration if every value is within its bounds; else raise `UsageError`, which names the first that
    is not."""
    try:
        return msgspec.json.decode(canonical(config), type=Config)
    except (msgspec.ValidationError, TypeError) as error:
        raise UsageError(f"The configuration cannot be used: {error}.") from error


def difference(old: Config, new: Config) -> list[tuple[str, object, object]]:
    return [
        (name, getattr(old, name), getattr(new, name))
        for name in Config.__struct_fields__
        if getattr(old, name) != getattr(new, name)
    ]


def changes(begun: Config, asked: Config) -> str:
    """Return what differs in the configuration of a run to be resumed, "" if nothing does. A scorer's time limit
    may differ: it can be fixed like the scorer itself."""
    found = (each for each in difference(begun, asked) if each[0] != "scorer_seconds")
    return "; ".join(f"{name} was {before!r}, now {after!r}" for name, before, after in found)


def require_same(begun: Config, asked: Config | None) -> None:
    """Raise `UsageError`, which lists the differences, if a run is to be resumed with another configuration."""
    if asked and (listed := changes(begun, asked)):
        raise UsageError(
            f"The run was started with another configuration: {listed}. "
            "Resume it without these options, or start a new run."
        )


def cautions(config: Config) -> list[str]:
    """Return warnings about a configuration, a sentence or two each, to show before a run starts with it."""
    found = []
    if config.failure_signal == "cumulative":
        found.append(
            "failure_signal cumulative starves task types: failures add up for ever, so one that fails a little may "
            "never be selected. `rate`, `window` and `open` bound the wait."
        )
    if Fraction(config.recency_weight) == 0:
        found.append("recency_weight 0 lets a task type wait for ever: only failures count (lambda > 0 in Eq. 1).")
    if config.guard == "paired" and config.anchors == 0:
        found.append("guard paired without anchors can notice nothing: give it some, or say guard off.")
    if config.gate == "paired" and config.anchors == 0:
        found.append("gate paired without anchors can test only at the end, with questions asked once more.")
    return found


Preset = Literal["default", "paper"]

PAPER: Mapping[str, object] = {
    # Hyperparameter table, in its order.
    "mastery_increase": 0.6,
    "mastery_decay": 0.1,
    "mastery_threshold": 0.5,
    "recency_weight": "3/10",
    "targets": 3,
    "bundle": 3,
    "retrieval": "quotas",
    "form": "sections",
    "route": "cot",
    "recall": False,
    "cases": False,
    "coin": 0.0,
    "long_context": 500,
    "strategy_floor": 0.55,
    "refresh_gap": 5,
    "principles_per_skill": 12,
    "warmup": 20,
    "early_stopping": False,
    "guard_drop": 0.03,
    "catastrophic_drop": 0.05,
    "answer_temperature": 0.0,
    "exploration_temperature": 0.3,
    "pool": 200,
    "iterations": 20,
    # Section 3.5: all-MiniLM-L6-v2.
    "embedder": "paper",
    # Section 4.1: 200 held-out questions.
    "held_out": 200,
    # Eq. 2 is the only estimate of mastery that the frontier reads.
    "frontier_estimator": "ratchet",
    # Eq. 1: "the failure count for task type t".
    "failure_signal": "window",
    # Algorithm 1, last line: accuracies are compared as they are; there is no anchor set.
    "guard": "paper",
    "anchors": 0,
    # Section 3.2: whatever is retrieved goes into the prompt; nothing is compared with a bare prompt.
    "gate": "off",
    # Section 3.5 does not exclude the memories of the question itself; appendix, table of revisits.
    "revisit_self": "include",
    "revisit_cap": 100,
    # Upstream task types come from the gold answer (GSM8K step counts, FinQA operations).
    "task_types": "gold",
    # Section 3.3 and appendix "Cascade-Retrieval Components": everything that the paper has is switched on.
    "success_memories": True,
    "decompositions": True,
    "failure_memories": True,
    "strategies": True,
    "unread": True,
    "principles": True,
    "tools": True,
    "prompt_refinement": True,
    "skill_splitting": True,
    "retrieval_recipes": True,
    "bandits": True,
    "cascade_principles": True,
    "cascade_action_recipes": True,
    "cascade_plan": True,
    "cascade_frontier": True,
}
"""Every setting that the paper mentions, with its literal value there."""

PRESETS: Mapping[Preset, Mapping[str, object]] = {"default": {}, "paper": PAPER}


def configured(preset: Preset, **explicit: Any) -> Config:
    """Return the configuration of a preset with explicit settings, which take precedence over it.

    [hyperparameters] The preset `paper` sets every literal reading at once.

    Raises:
        UsageError: A value is out of bounds, or a name is not a setting.
    """
    return checked(Config(**{**PRESETS[preset], **explicit}))


class Starting(msgspec.Struct, frozen=True, kw_only=True):
    """What a new run's configuration starts from. Only the resulting configuration is recorded."""

    preset: Preset = "default"
    """Values of all settings that you do not give: `default`, or `paper`, which is the paper read literally."""
