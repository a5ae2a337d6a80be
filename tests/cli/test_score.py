"""`mage-es score`: one JSON object in, one out, and the totals apart."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def test_each_question_is_one_line_on_stdout_and_the_totals_are_on_stderr(
    mage: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "test.jsonl").write_text('{"question": "1 + 1?", "answer": "<<1+1=2>>\\n#### 2"}\n')
    (tmp_path / "mine.jsonl").write_text('{"id": "gsm8k-test-0", "prediction": "It is 2."}\n')
    words = ["score", "gsm8k", "--records", str(tmp_path / "test.jsonl"), "--predictions", str(tmp_path / "mine.jsonl")]
    done = mage(*words)
    assert json.loads(done.out) == {
        "id": "gsm8k-test-0",
        "answer": "It is 2",
        "metrics": {"accuracy": 0.0, "strict": 0.0},
        "missing": False,
    }
    assert "1 questions, 0 without a prediction" in done.err
    assert "accuracy: 0.0000" in done.err
    document = json.loads(mage(*words, "--strict", "--json").out)
    assert (document["strict"], document["totals"]) == (True, {"accuracy": 0.0})
