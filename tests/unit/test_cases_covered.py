"""Every public fault that the project has taken on has a test that bears its id."""

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]

TAKEN_ON = """
    C01 C02 C03 C04 C06 C07 C08 C09 C10 C12 C14 C15 C16 C17 C19 C20 C21 C23 C24 C26
    C28 C29 C30 C32 C33 C34 C35 C37 C38 C39 C41 C42 C43 C45 C46 C48 C49 C50 C51 C52 C53 C54
    X01 X02 X04 X05 X06 X08 X09 X10 X13
"""


def marked(source: str) -> Iterator[str]:
    """The ids of the cases that a module's tests are marked with, by decorator or by pytestmark."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.case":
            yield from (str(one.value) for one in node.args if isinstance(one, ast.Constant))


def test_every_case_taken_on_has_a_test() -> None:
    covered = {name for path in TESTS.rglob("test_*.py") for name in marked(path.read_text(encoding="utf-8"))}
    assert sorted(set(TAKEN_ON.split()) - covered) == []


def test_a_mark_is_seen_and_its_lack_too() -> None:
    source = '@pytest.mark.case("C03")\ndef test_a(): ...\npytestmark = [pytest.mark.case("X10")]\n# C04\n'
    assert sorted(marked(source)) == ["C03", "X10"]
