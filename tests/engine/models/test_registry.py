import subprocess
import sys

import pytest

from mage_es.engine.models.registry import open_model
from mage_es.events.errors import PrerequisiteError, UsageError


def test_every_name_opens_as_the_model_of_that_name() -> None:
    assert open_model("builtin/analogist", "execution").name == "builtin/analogist"
    assert open_model("builtin/reference", "guidance").name == "builtin/reference"


def test_a_served_model_serves_every_tier(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "canary-1234")
    for spec in ("openai/qwen3?base_url=http://127.0.0.1:9/v1", "anthropic/claude-sonnet-5"):
        assert open_model(spec, "execution").name == open_model(spec, "guidance").name == spec


def test_a_key_that_is_missing_shows_before_anything_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(PrerequisiteError, match="export ANTHROPIC_API_KEY"):
        open_model("anthropic/claude-sonnet-5", "guidance")


def test_an_option_that_a_provider_does_not_know_is_refused() -> None:
    with pytest.raises(UsageError, match="Did you mean base_url"):
        open_model("openai/qwen3?baseurl=http://127.0.0.1:9/v1", "execution")


def test_an_unknown_model_lists_what_resembles_it() -> None:
    with pytest.raises(UsageError, match=r"builtin/analogyst.*Did you mean builtin/analogist"):
        open_model("builtin/analogyst", "execution")


def test_the_wrong_tier_says_which_tier_the_model_is_for() -> None:
    with pytest.raises(UsageError, match=r"for the guidance tier.*choose from: builtin/analogist"):
        open_model("builtin/reference", "execution")
    with pytest.raises(UsageError, match=r"cannot serve the judge tier; no built-in model can\."):
        open_model("builtin/reference", "judge")


def test_the_registry_loads_no_model_before_one_is_opened() -> None:
    code = (
        "import sys, mage_es.engine.models.registry;"
        "heavy = ('numpy', 'scipy', 'openai', 'anthropic', 'vllm', 'xllamacpp');"
        "print([m for m in sys.modules if 'analogist' in m or m in heavy])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("provider", "package"),
    [("anthropic", "anthropic"), ("llamacpp", "xllamacpp"), ("openai", "openai"), ("vllm", "vllm")],
)
def test_a_client_package_that_is_missing_shows_before_anything_is_begun(
    monkeypatch: pytest.MonkeyPatch, provider: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(PrerequisiteError, match=rf"needs the package {package}: .*mage-es\[{provider}\]"):
        open_model(f"{provider}/some-model", "execution")
