"""Precedence, origins and refusals of settings."""

from pathlib import Path

import pytest

from mage_es.cli.settings import SERVING, Serving, fields, flag_of, kind, resolve
from mage_es.engine.benchmarks.registry import with_own_models
from mage_es.engine.config import Config
from mage_es.engine.run.budget import Limits
from mage_es.events.errors import UsageError


def test_a_flag_beats_the_environment_which_beats_the_file_which_beats_the_default(tmp_path: Path) -> None:
    (tmp_path / "mage-es.toml").write_text("seed = 1\npool = 1\nheld_out = 1\n")
    environment = {"MAGE_ES_SEED": "2", "MAGE_ES_POOL": "2"}
    entries = resolve({"seed": "3", "pool": None}, environment=environment, folder=tmp_path).entries
    assert entries["seed"] == ("seed", 3, "flag")
    assert entries["pool"] == ("pool", 2, "MAGE_ES_POOL")
    assert entries["held_out"] == ("held_out", 1, "mage-es.toml")
    assert entries["anchors"] == ("anchors", 100, "default")


def test_without_any_source_the_configuration_is_the_default_one(tmp_path: Path) -> None:
    settings = resolve({"benchmark": "wordmath"}, environment={}, folder=tmp_path)
    assert with_own_models(settings.config()) == with_own_models(Config(benchmark="wordmath"))
    assert (settings.workers, settings.runs_dir, settings.data_dir) == (8, Path("runs"), Path("data"))


def test_a_model_has_as_many_connections_as_there_are_workers_unless_told_otherwise(tmp_path: Path) -> None:
    assert resolve({"workers": "64"}, environment={}, folder=tmp_path).max_connections == 64
    bounded = resolve({"workers": "64"}, environment={"MAGE_ES_MAX_CONNECTIONS": "16"}, folder=tmp_path)
    assert (bounded.workers, bounded.max_connections) == (64, 16)


def test_every_field_of_the_configuration_is_a_setting() -> None:
    assert set(Config.__struct_fields__) < set(fields())


def test_both_names_of_the_data_folder_are_understood(tmp_path: Path) -> None:
    short = resolve({}, environment={"MAGE_ES_DATA": "a"}, folder=tmp_path)
    long = resolve({}, environment={"MAGE_ES_DATA_DIR": "b"}, folder=tmp_path)
    assert (short.data_dir, long.data_dir) == (Path("a"), Path("b"))


def test_the_collector_of_the_standard_variable_gives_way_to_one_of_our_own(tmp_path: Path) -> None:
    standard = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a:4318"}
    found = resolve({}, environment=standard, folder=tmp_path)
    assert found.telemetry(print) == ("http://a:4318", False)
    ours = resolve({}, environment={**standard, "MAGE_ES_OTEL_ENDPOINT": "http://b:4318"}, folder=tmp_path)
    flag = resolve({"otel_endpoint": "http://c:4318", "otel_texts": True}, environment=standard, folder=tmp_path)
    assert (ours.telemetry(print), flag.telemetry(print)) == (("http://b:4318", False), ("http://c:4318", True))
    assert resolve({}, environment={}, folder=tmp_path).telemetry(print) is None


def test_texts_are_read_as_booleans_where_those_are_meant(tmp_path: Path) -> None:
    settings = resolve({}, environment={"MAGE_ES_PRINCIPLES": "false"}, folder=tmp_path)
    assert settings.entries["principles"].value is False


def test_variables_of_others_are_none_of_our_business(tmp_path: Path) -> None:
    assert resolve({}, environment={"HOME": "/", "MAGE": "x"}, folder=tmp_path).flags() == {}


@pytest.mark.parametrize(
    ("flags", "environment", "file", "parts"),
    [
        ({"pool": "many"}, {}, "", ["--pool", "'many'", "a whole number"]),
        ({"pool": "0"}, {}, "", ["--pool", "'0'", "at least 1"]),
        ({"exploration": "1.5"}, {}, "", ["--exploration", "'1.5'", "at most 1"]),
        ({"answer_temperature": "nan"}, {}, "", ["--answer-temperature", "'nan'"]),
        ({"recency_weight": "1/0"}, {}, "", ["--recency-weight", "'1/0'"]),
        ({"guard": "pared"}, {}, "", ["--guard", "'pared'", "Did you mean paired"]),
        ({}, {"MAGE_ES_POOOL": "4"}, "", ["MAGE_ES_POOOL", "MAGE_ES_POOL"]),
        ({}, {"MAGE_ES_WORKERS": "-1"}, "", ["MAGE_ES_WORKERS", "'-1'"]),
        ({}, {"MAGE_ES_WORKERS": "1000000000"}, "", ["MAGE_ES_WORKERS", "at most 4096"]),
        ({}, {}, "max_connections = 100_000", ["mage-es.toml: max_connections", "at most 4096"]),
        ({"iterations": "99999999999"}, {}, "", ["--iterations", "at most 10000000"]),
        ({"serve_max_body": "1e300"}, {}, "", ["--max-body", "at most 4096"]),
        ({}, {}, "sede = 4", ["mage-es.toml", "`sede`", "seed"]),
        ({}, {}, "pool = 'many'", ["mage-es.toml: pool", "'many'", "a whole number"]),
        ({}, {}, "principles = 'perhaps'", ["mage-es.toml: principles", "true or false"]),
        ({}, {}, "pool = \nseed = 1", ["mage-es.toml", "not valid TOML", "line 1"]),
    ],
)
def test_what_is_not_a_setting_or_does_not_fit_is_refused_with_place_and_way_out(
    tmp_path: Path, flags: dict[str, object], environment: dict[str, str], file: str, parts: list[str]
) -> None:
    (tmp_path / "mage-es.toml").write_text(file)
    with pytest.raises(UsageError) as refused:
        resolve(flags, environment=environment, folder=tmp_path)
    assert all(part in str(refused.value) for part in parts), str(refused.value)


def test_a_run_without_a_benchmark_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="mage-es fetch"):
        resolve({}, environment={}, folder=tmp_path).config()


def test_the_command_to_type_next_carries_the_places_that_were_given_as_flags(tmp_path: Path) -> None:
    flags = {"runs_dir": "my runs", "principles": False, "pool": "9"}
    settings = resolve(flags, environment={"MAGE_ES_DATA": "d"}, folder=tmp_path)
    assert settings.again("resume", "r1") == "mage-es resume r1 --runs-dir 'my runs'"
    assert settings.again("evolve", names=("pool", "principles")) == "mage-es evolve --pool 9 --no-principles"


def test_a_preset_is_below_everything_that_was_set_and_above_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "mage-es.toml").write_text('preset = "paper"\nwarmup = 7\n')
    entries = resolve({"anchors": "5"}, environment={"MAGE_ES_GUARD": "off"}, folder=tmp_path).entries
    assert entries["preset"] == ("preset", "paper", "mage-es.toml")
    assert entries["failure_signal"] == ("failure_signal", "window", "preset paper")
    assert entries["warmup"] == ("warmup", 7, "mage-es.toml")
    assert entries["guard"] == ("guard", "off", "MAGE_ES_GUARD")
    assert entries["anchors"] == ("anchors", 5, "flag")
    assert entries["seed"] == ("seed", 42, "default")


@pytest.mark.parametrize(
    ("flags", "environment", "preset"),
    [({}, {"MAGE_ES_PRESET": "paper"}, "paper"), ({"preset": "default"}, {"MAGE_ES_PRESET": "paper"}, "default")],
)
def test_the_preset_is_itself_a_setting(
    tmp_path: Path, flags: dict[str, object], environment: dict[str, str], preset: str
) -> None:
    settings = resolve(flags | {"benchmark": "wordmath"}, environment=environment, folder=tmp_path)
    assert settings.preset == preset
    assert settings.config().guard == {"paper": "paper", "default": "paired"}[preset]


def test_an_unknown_preset_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--preset: 'papr' is not valid\. Did you mean paper"):
        resolve({"preset": "papr"}, environment={}, folder=tmp_path)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"pool": "0"}, "--pool: '0' is not valid. Give a whole number of at least 1."),
        ({"pool": "x"}, "--pool: 'x' is not valid. Give a whole number."),
        ({"exploration": "1.5"}, "--exploration: '1.5' is not valid. Give a number of at most 1.0."),
        (
            {"recency_weight": "0.3"},
            "--recency-weight: '0.3' is not valid. Give an exact fraction such as 3/10, or a whole number.",
        ),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_what_would(
    tmp_path: Path, flags: dict[str, object], said: str
) -> None:
    with pytest.raises(UsageError) as refused:
        resolve(flags, environment={}, folder=tmp_path)
    assert str(refused.value) == said


def test_the_sizes_of_a_benchmark_are_above_the_preset_and_below_what_was_set(tmp_path: Path) -> None:
    flags = {"benchmark": "workshop", "pool": "12", "preset": "paper"}
    entries = resolve(flags, environment={}, folder=tmp_path).entries
    assert entries["held_out"] == ("held_out", 100, "benchmark workshop")
    assert entries["pool"] == ("pool", 12, "flag")
    assert entries["warmup"] == ("warmup", 20, "preset paper")


@pytest.mark.parametrize("name", ["max_usd", "max_calls", "max_iterations"])
def test_a_budget_of_nothing_is_refused_as_a_flag_and_none_lifts_one(tmp_path: Path, name: str) -> None:
    (tmp_path / "mage-es.toml").write_text(f"{name} = 5\n")
    flag, variable = f"--{name.replace('_', '-')}", f"MAGE_ES_{name.upper()}"
    with pytest.raises(UsageError, match=f"^{flag} 0 would allow nothing.* none for no limit"):
        resolve({name: "0"}, environment={}, folder=tmp_path)
    assert getattr(resolve({}, environment={}, folder=tmp_path).limits, name) == 5
    for lifted in (
        resolve({}, environment={variable: "0"}, folder=tmp_path),
        resolve({name: "none"}, environment={}, folder=tmp_path),
    ):
        assert getattr(lifted.limits, name) == 0


def test_a_resumed_run_keeps_its_limits_unless_a_flag_gives_others_or_the_surroundings_are_stricter(
    tmp_path: Path,
) -> None:
    (tmp_path / "mage-es.toml").write_text("max_usd = 5.0\nmax_calls = 10\nmax_iterations = 3\n")
    recorded = Limits(max_usd=2.0, max_calls=30)
    plain = resolve({}, environment={}, folder=tmp_path).within(recorded)
    assert plain.limits == Limits(2.0, 10, 3)
    told = resolve({"max_usd": "9", "max_calls": "none"}, environment={}, folder=tmp_path).within(recorded)
    assert told.limits == Limits(9.0, 0, 3)


def test_every_option_of_serve_is_a_flag_a_variable_and_a_line_of_the_file(tmp_path: Path) -> None:
    other = {
        "learn": "off",
        "trust": "gold",
        "layout": "turns",
        "port": "1",
        "holdback": "0.5",
        "record_texts": "true",
        "access_log": "true",
    }
    other |= {"min_similarity": "0.4", "max_note_tokens": "3", "retrieval_timeout": "7", "publish_every": "2"}
    given = {name: other.get(name, "7" if name == "max_body" else "x") for name in Serving.__struct_fields__}
    by_flag = resolve({f"serve_{name}": value for name, value in given.items()}, environment={}, folder=tmp_path)
    variables = {f"MAGE_ES_SERVE_{name.upper()}": value for name, value in given.items()}
    by_variable = resolve({}, environment=variables, folder=tmp_path)
    lines = [f'serve_{name} = "{value}"' for name, value in given.items()]
    (tmp_path / "mage-es.toml").write_text("\n".join(lines))
    by_file = resolve({}, environment={}, folder=tmp_path)
    assert by_flag.serving == by_variable.serving == by_file.serving
    default = Serving()
    assert not [name for name in given if getattr(by_flag.serving, name) == getattr(default, name)]
    assert (by_flag.serving.min_similarity, by_flag.serving.record_texts) == (0.4, True)
    assert {flag_of(name) for name in SERVING} >= {"--port", "--min-similarity"}


@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [
        ("port", "65536", "a whole number of at most 65535"),
        ("holdback", "2", "a number of at most 1"),
        ("min_similarity", "near", "auto or a cosine"),
        ("max_body", "0", "a number above 0"),
        ("learn", "propos", "propose"),
    ],
)
def test_an_option_of_serve_that_does_not_fit_is_refused_wherever_it_is_from(
    tmp_path: Path, name: str, value: str, hint: str
) -> None:
    for flags, environment, place in (
        ({f"serve_{name}": value}, {}, f"--{name.replace('_', '-')}"),
        ({}, {f"MAGE_ES_SERVE_{name.upper()}": value}, f"MAGE_ES_SERVE_{name.upper()}"),
    ):
        with pytest.raises(UsageError) as told:
            resolve(flags, environment=environment, folder=tmp_path)
        assert place in str(told.value) and hint in str(told.value)


def test_every_number_among_the_settings_has_a_largest_value() -> None:
    numbers = [name for name in fields() if kind(name) in (int, float) and name != "seed"]
    assert {"workers", "serve_port", "iterations", "max_usd"} <= {*numbers}
    for name in numbers:
        with pytest.raises(UsageError, match=f"{flag_of(name)}: .* at most"):
            resolve({name: "1e300" if kind(name) is float else "9" * 15}, environment={}, folder=Path("absent"))
