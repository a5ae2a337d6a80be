"""Steps of made-up episodes, for the rules that learn from trajectories."""

from mage_es.engine.rules.trajectories import Trajectory
from mage_es.events.vocabulary import EpisodeStepped, Origin


def stepped(step: int, action: str, *achievements: str, effect: str = "") -> EpisodeStepped:
    """Return one step; an empty action is a reply that named none."""
    return EpisodeStepped(
        iteration=0,
        purpose="explore",
        episode_id="q1",
        step=step,
        action=action,
        parsed=bool(action),
        observation=f"after {step}",
        reward_micro=0,
        achievements=achievements,
        done=False,
        effect=effect,
    )


def trajectory(*actions: tuple[str, ...], task_type: str = "t", skill: str = "s", question: str = "q1") -> Trajectory:
    """Return an episode from (action, achievements...) in order; an achievement's effect is `got it`."""
    steps = [
        stepped(step, action, *achievements, effect=f"got {achievements[0]}" if achievements else "")
        for step, (action, *achievements) in enumerate(actions, start=1)
    ]
    return Trajectory(question, task_type, skill, steps, Origin(facts=(f"origin-{question}",)))
