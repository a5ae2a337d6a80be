"""`mage-es evolve`: start a run and let it learn."""

from typing import Annotated

import typer

from mage_es.cli.completion import benchmarks
from mage_es.cli.options import CONFIG, SPENDING, WORKING, FromAtOption, RunIdOption, examples, takes
from mage_es.cli.output import Output
from mage_es.cli.own_tasks import with_learner
from mage_es.cli.paying import YesOption, going_on, require_agreement
from mage_es.cli.registering import ExamsOption, MetricOption, RegisterOption, SeedsOption, SizeOption, registration
from mage_es.cli.session import conclude, resumable
from mage_es.cli.settings import Settings
from mage_es.engine.config import cautions
from mage_es.engine.seams.plugins import verb
from mage_es.events.errors import UsageError

EXAMPLES = examples(
    "mage-es evolve wordmath --iterations 10 --pool 60",
    "mage-es evolve gsm8k --data-dir data --iterations 20",
    "mage-es evolve wordmath --no-success-memories --run-id without-successes",
    "mage-es evolve gsm8k --preset paper --guard off",
    "mage-es evolve wordmath --register --register-questions 100 --register-seeds 42,43,44",
    "mage-es evolve gsm8k --guidance anthropic/claude-opus-4-8 --dry-run",
    "mage-es evolve gsm8k --guidance anthropic/claude-opus-4-8 --max-usd 5",
    "mage-es evolve my.jsonl --columns question=prompt,answer=label --scorer number --execution openai/MODEL",
    "mage-es evolve --from tasks-s42-001 --tasks more.jsonl --yes",
    "mage-es evolve --from tasks-s42-001 --tasks more.jsonl --prune --max-usd 5",
    "mage-es evolve tickets.csv --labels billing,delivery,other --execution openai/MODEL",
)


@takes("preset", *CONFIG, *WORKING, *SPENDING, own_tasks=True)
def evolve(
    benchmark: Annotated[
        str | None,
        typer.Argument(
            help="Name of the benchmark, such as wordmath, or a file of your own tasks.", autocompletion=benchmarks
        ),
    ] = None,
    *,
    settings: Settings,
    out: Output,
    run_id: RunIdOption = None,
    from_run: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="RUN",
            help="Continue from what that run learned, with its settings, and with its questions besides the new ones.",
        ),
    ] = None,
    at: FromAtOption = "latest",
    prune: Annotated[
        bool,
        typer.Option("--prune", help="With --from: in that run, first take out of use what its record proves harmful."),
    ] = False,
    register: RegisterOption = False,
    register_metric: MetricOption = "accuracy",
    register_questions: SizeOption = 0,
    register_exams: ExamsOption = 1,
    register_seeds: SeedsOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only estimate the calls, tokens and dollars of the run.")
    ] = False,
    yes: YesOption = False,
) -> None:
    """Start a run: a frozen learner gathers experience on a benchmark.

    Every step is recorded; the run can be stopped, resumed, replayed and audited. With --from the price is printed
    first, judging by that run: nothing is spent without `--yes`, a limit, or a yes at the terminal.
    """
    from mage_es.engine.benchmarks.registry import open_benchmark
    from mage_es.engine.models.registry import check_models
    from mage_es.engine.run.directory import Run, require_free
    from mage_es.engine.verbs.evolve import evolve as start
    from mage_es.engine.verbs.evolve import evolve_price

    if at != "latest" and not from_run:
        raise UsageError("--at says where to continue from another run: name that run with --from.")
    if prune and (not from_run or at != "latest"):
        raise UsageError("--prune uses the final record of the run that --from names: add --from, and drop --at.")
    config = settings.config()
    for caution in cautions(config):
        out.say(f"Caution: {caution}")
    if dry_run:
        again = ("--from", from_run, "--at", at) if from_run else (config.benchmark,)
        out.say("Rehearsing with embedded models, which cost nothing.")
        out.report(*verb("dry_run")(config, settings))
        options = tuple(name for name in settings.flags() if name != "benchmark")  # which is an argument
        out.next(settings.again("evolve", *again, names=options))
        return
    config = with_learner(config)
    parent = settings.find_run(from_run) if from_run else None
    if register_questions and not register:
        raise UsageError("--register-questions says what to register: add --register.")
    registered = registration(
        config.seed,
        register=register,
        metric=register_metric,
        questions=register_questions,
        exams=register_exams,
        seeds=register_seeds,
    )
    if parent:
        check_models(execution=config.execution, guidance=config.guidance, judge=config.judge)
        if "benchmark" in settings.flags():
            open_benchmark(config.benchmark, seed=config.seed, data_dir=settings.data_dir)
        price = evolve_price(config, from_run=parent, at=at, prices=settings.prices())
        out.say(going_on(price, parent.id, config.iterations))
        require_agreement(settings, price, yes=yes)
    if prune and parent:  # after what may refuse, since it writes to the parent
        if run_id:
            require_free(Run(run_id, settings.runs_dir / run_id))
        out.say(verb("prune")(parent).in_words())
    with resumable(out, settings) as runtime:
        summary = start(
            config,
            from_run=parent,
            at=at,
            runs_dir=settings.runs_dir,
            data_dir=settings.data_dir,
            runtime=runtime,
            run_id=run_id,
            registration=registered,
        )
    conclude(out, summary, settings)
