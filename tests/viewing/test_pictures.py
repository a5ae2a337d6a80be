"""The pictures of the README, taken of the demo: MAGE_ES_PICTURES=1 writes them anew."""

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.viewing.conftest import WEB, Looked

PICTURES = WEB.parent / "pictures"
DEMO = "wordmath-s42-001"
ASKED = "MAGE_ES_PICTURES"
LARGEST = 60_000
COLOURS = 200
ENDS = {"overview": "overview", "question": "questions/wordmath-evolution-1737"}


@pytest.mark.slow
@pytest.mark.skipif(ASKED not in os.environ, reason=f"{ASKED} is not set")
def test_the_demo_as_one_file_has_the_views_that_the_readme_shows(tmp_path: Path, look: Callable[..., Looked]) -> None:
    image = pytest.importorskip("PIL.Image")
    env = {name: value for name, value in os.environ.items() if name != ASKED}  # mage-es knows no such setting
    for words in (["demo"], ["view", DEMO, "--to", "demo.html"]):
        line = [sys.executable, "-m", "mage_es", *words]
        subprocess.run(line, cwd=tmp_path, env=env, check=True, capture_output=True)
    for name, end in ENDS.items():
        looked = look(f"{(tmp_path / 'demo.html').as_uri()}#/{DEMO}/{end}", width=1000, height=860)
        looked.page.locator(".chart canvas, #changed").first.wait_for()
        shot = image.open(io.BytesIO(looked.page.screenshot())).convert("RGB")
        shot.quantize(COLOURS, dither=image.Dither.NONE).save(PICTURES / f"{name}.png", optimize=True)
        assert looked.problems == []


def test_the_pictures_of_the_readme_are_small() -> None:
    assert {path.stem for path in PICTURES.glob("*.png")} == set(ENDS)
    assert max(path.stat().st_size for path in PICTURES.iterdir()) <= LARGEST
