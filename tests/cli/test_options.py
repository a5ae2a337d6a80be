"""Options are made from settings, with the description that stands under each."""

from collections.abc import Callable
from typing import Any

from mage_es.cli.options import CONFIG


def test_every_setting_is_an_option_of_evolve_with_a_description(mage: Callable[..., Any]) -> None:
    lines = " ".join(mage("evolve", "--help").out.split())
    missing = [name for name in CONFIG if f"--{name.replace('_', '-')} " not in lines]
    assert not missing


def test_an_option_states_kind_choices_description_and_default(mage: Callable[..., Any]) -> None:
    lines = " ".join(mage("evolve", "--help").out.split())
    assert "--mastery-increase NUMBER alpha, Eq. 2. [default: 0.6]" in lines
    assert "--guard paired|paper|off What a snapshot" in lines
    assert "--prompt-refinement / --no-prompt-refinement Refine prompt templates" in lines


def test_a_new_run_is_named_by_one_option_everywhere_and_the_other_word_leads_to_it(mage: Callable[..., Any]) -> None:
    for words in (["evolve"], ["fork", "a"], ["merge", "a", "b"], ["serve"], ["mcp"]):
        asked = mage(*words, "--name", "x")
        assert asked.code == 2 and "--run-id" in asked.err, words
        assert "--run-id NAME" in " ".join(mage(words[0], "--help").out.split()), words


def test_no_setting_lacks_a_description(mage: Callable[..., Any]) -> None:
    from mage_es.cli.options import descriptions
    from mage_es.cli.settings import fields

    assert [name for name in fields() if not descriptions().get(name)] == []
