"""A process that serves a run to one session for ever, and says of each turn what it was given once that is durable.

python -m tests.engine.serving.talker RUN
"""

import asyncio
import sys
from pathlib import Path

from mage_es.engine.run.directory import Run
from mage_es.engine.served.notes import NOTHING
from mage_es.engine.serving.live import LiveRun
from tests.engine.serving.talking import closed, said


async def talk(live: LiveRun) -> None:
    questions, turns = [question.question for question in live.world.questions.values()], list[str]()
    while True:
        turns.append(questions[len(turns) % len(questions)])
        prepared = live.prepare(said(*turns[-8:]), "chat", session="s", key="k")
        await asyncio.wrap_future(live.submit(prepared))
        note = prepared.notes.get(len(turns[-8:]) - 1, NOTHING)
        print(prepared.opened.turn_sha256, note.sha256 or "none", flush=True)
        live.close_inference(closed(prepared.opened.inference))


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    asyncio.run(talk(LiveRun.open(Run(folder.name, folder), learn="propose", holdback=0)))
