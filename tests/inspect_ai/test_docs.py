"""The page about Inspect does what it shows, in order, in one empty folder."""

import re
import shlex
from pathlib import Path

import pytest
from inspect_ai.model import get_model

from tests.cli.conftest import Command, empty_folder, mage
from tests.inspect_ai.evaluating import reply

__all__ = ["empty_folder", "mage"]
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # Inspect's own

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "inspect.md").read_text(encoding="utf-8")


def test_the_commands_and_the_code_of_the_page_do_what_they_show(
    mage: Command, whole_benchmark: None, capfd: pytest.CaptureFixture[str]
) -> None:
    [console] = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    shown = ""
    for line in console.splitlines():
        if line.startswith("$ mage-es "):
            outcome = mage(*shlex.split(line)[2:])
            assert outcome.code == 0, outcome.err
            shown = outcome.out
        else:
            assert " ".join(line.split()) in " ".join(shown.split()), shown
    [code] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    model = get_model("mockllm/model", custom_outputs=lambda *_: reply("192"), memoize=False)
    said: dict[str, object] = {"MODEL": model}

    exec(code, said)
    assert "'run': 'words'" in capfd.readouterr().out
