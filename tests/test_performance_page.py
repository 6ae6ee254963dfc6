"""docs/performance.md: lines of ratios, stored and written; memory by formula."""

from importlib import import_module
from pathlib import Path

import pytest
import yaml

from benchmarks import _lines
from benchmarks.__main__ import NAMES
from benchmarks._lines import STORED, TEXTS, Line, Section, section_markdown, to_section, write_page

ROOT = Path(__file__).resolve().parents[1]


def test_every_benchmark_has_a_text_and_a_main():
    texts = yaml.safe_load(TEXTS.read_text("utf-8"))
    assert sorted(texts) == NAMES
    for text in texts.values():
        assert set(text) == {"title", "about", "limit"}


def test_ratios_by_size_or_without_become_lines(tmp_path):
    section = to_section("toy", {1_000: {"scipy": 40.0}, "coarse": 2})
    assert section.lines == [Line("1,000", "scipy", 40.0), Line("", "coarse", 2.0)]
    section.save(tmp_path)
    assert Section.load_from(tmp_path / "toy.json") == section
    assert "| 1,000 | scipy | 40.00 |" in section_markdown(section)


def test_the_page_is_made_of_the_stored_ratios(tmp_path):
    write_page(tmp_path / "page.md", STORED)
    page = (ROOT / "docs" / "performance.md").read_text("utf-8")
    assert page == (tmp_path / "page.md").read_text("utf-8"), "run: python -m benchmarks --page"
    assert page.startswith(_lines.HEAD)


@pytest.mark.parametrize("index", [0, 1])
def test_memory_is_what_the_formula_says(index):
    memory = import_module("benchmarks.memory")
    shape = memory.SHAPES[index]
    parameters, states, activations = memory.measure(shape)
    assert states == pytest.approx(memory.state_bytes(parameters), rel=0.001)
    assert activations == pytest.approx(memory.activation_bytes(shape), rel=0.005)
