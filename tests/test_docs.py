"""The reference pages of the site are made from the commands, names and event types that there are."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

import mage_es
from mage_es.events.vocabulary import EVENT_TYPES
from tests.cli.leaves import LEAVES

PAGES = Path(__file__).resolve().parents[1] / "docs" / "pages.py"


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pages", PAGES)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_command_is_on_the_page_of_commands(pages: ModuleType) -> None:
    text = pages.commands()
    assert not [names for names in LEAVES if f"mage-es {' '.join(names)}" not in text]


def test_every_public_name_is_on_the_page_of_python(pages: ModuleType) -> None:
    text, names = pages.front_door(), {*mage_es.__all__}
    asynchronous = {f"a{name}" for name in names}
    called = {name for name in names - asynchronous if callable(getattr(mage_es, name))}
    assert not [name for name in called if f"## {name}\n" not in text]


def test_every_event_type_is_on_the_page_of_events_and_each_of_its_fields(pages: ModuleType) -> None:
    text = pages.events()
    assert not [tag for tag in EVENT_TYPES if f"## {tag}\n" not in text]
    fields = {field for cls in EVENT_TYPES.values() for field in cls.__struct_fields__}
    assert not [field for field in fields if f"`{field}`" not in text]


def test_links_of_a_paper_lead_to_pages_or_show_a_path(pages: ModuleType) -> None:
    text = "[engine](engine/README.md), [code](engine/loop.py) and `[no](link.md)`"
    assert pages.linked(text, "README.md") == "[engine](engine.md), `engine/loop.py` and `[no](link.md)`"
