"""Questions of another world than arithmetic: the reference tier has nothing to say about some, and never fails."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from mage_es.engine.briefs import (
    Brief,
    FailureBrief,
    FailureCase,
    OntologyBrief,
    PrinciplesBrief,
    RefinementBrief,
    RetrievalBrief,
    SolvedCase,
    SplittingBrief,
    TaskTypeSample,
    ToolsBrief,
    TypeStanding,
)
from mage_es.engine.players.reference.authors import AUTHORS

ODD = st.text(alphabet=st.sampled_from("ab 0123456789.,+-*/=()%$#\n\"'{}<>means?"), max_size=60)


@st.composite
def solved(draw: st.DrawFn) -> SolvedCase:
    fields = {name: draw(ODD) for name in ("question", "context", "answer", "solution")}
    return SolvedCase(question_id=draw(st.sampled_from(["q1", "q2"])), **fields)


@st.composite
def failed(draw: st.DrawFn) -> FailureCase:
    fields = {name: draw(ODD) for name in ("question", "context", "answer", "solution", "wrong_answer")}
    return FailureCase(question_id="q3", wrong_reasoning=draw(ODD), **fields)


@st.composite
def briefs(draw: st.DrawFn) -> Brief:
    cases, right = tuple(draw(st.lists(failed(), max_size=3))), tuple(draw(st.lists(solved(), max_size=3)))
    about = {"task_type": "t", "skill": "s", "cases": cases}
    standing = TypeStanding(task_type="t", right=0, wrong=1, samples=right)
    sample = TaskTypeSample(task_type="t", samples=())
    made: list[Brief] = [
        FailureBrief(**about, wants_strategy=True, limit=3),
        PrinciplesBrief(**about, existing=(), limit=3, solved=right),
        ToolsBrief(**about, solved=right, existing=(), limit=1),
        RetrievalBrief(task_type="t", skill="s", outcomes=(), solved_pool=3, corrected_pool=3, bundle=3),
        RefinementBrief(
            skill="s", description="", task_type="t", prompt_template="", strategy="", cases=cases, solved=right,
            length=900,
        ),
        SplittingBrief(skill="s", description="", task_types=(standing,), parts=(), skills=("s",), limit=3),
        OntologyBrief(benchmark="b", task_types=(sample,), skill_cap=30),
    ]  # fmt: skip
    return draw(st.sampled_from(made))


@settings(deadline=None)
@given(briefs())
def test_no_brief_is_too_odd_to_be_answered(brief: Brief) -> None:
    reply = AUTHORS[type(brief)](brief)
    assert msgspec.json.encode(reply)
