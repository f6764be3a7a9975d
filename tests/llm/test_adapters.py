"""Adapters are found by the names of their modules."""

from pathlib import Path

import pytest

from kept.core.errors import ConfigError
from kept.llm import adapters
from kept.llm.models import context_of, create_model
from kept.local.settings import CHOICES, LlmSettings

MODULES = sorted(path.stem for path in Path(adapters.__file__).parent.glob("[!_]*.py"))


def test_each_module_of_the_adapters_is_a_choice_of_the_setting():
    assert CHOICES["llm.adapter"] == ("none", *MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_each_adapter_names_the_setting_that_it_needs(name):
    with pytest.raises(ConfigError, match=r"llm\.\w+ is not set") as error:
        create_model(LlmSettings(adapter=name), {})
    assert error.value.hint.startswith("kept config set llm.")


@pytest.mark.parametrize("name", [name for name in MODULES if name != "ollama"])  # that one asks its server
def test_each_adapter_has_a_context_that_the_setting_overrides(name):
    assert context_of(LlmSettings(adapter=name, model="anything")) >= 4_000
    assert context_of(LlmSettings(adapter=name, context=9_000)) == 9_000
