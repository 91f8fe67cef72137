"""A reader of Prometheus's text format that takes nothing amiss in silence: whatever is wrong raises."""

import re

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"')
_ESCAPE = re.compile(r'\\(["\\n])')

Series = dict[tuple[tuple[str, str], ...], float]


def parse(text: str) -> dict[str, tuple[str, Series]]:
    """Each family's kind and values, by its name and sorted labels."""
    assert text.endswith("\n")
    families: dict[str, tuple[str, Series]] = {}
    helped, name = "", ""
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            helped, _, words = line.removeprefix("# HELP ").partition(" ")
            assert words.strip(), line
        elif line.startswith("# TYPE "):
            name, kind = line.removeprefix("# TYPE ").split(" ")
            assert _NAME.fullmatch(name), line
            assert name == helped, f"{name} is typed without its help before it"
            assert name not in families, f"{name} comes twice"
            assert kind in {"counter", "gauge"}, line
            assert (kind == "counter") == name.endswith("_total"), line
            families[name] = kind, {}
        else:
            labels, value = _sample(line, name)
            assert labels not in families[name][1], f"twice: {line}"
            families[name][1][labels] = value
    return families


def _sample(line: str, name: str) -> tuple[tuple[tuple[str, str], ...], float]:
    assert line.startswith(name), f"{line} among {name}"
    rest, labels = line[len(name) :], dict[str, str]()
    if rest.startswith("{"):
        at = 1
        while found := _LABEL.match(rest, at):
            assert found[1] not in labels, line
            labels[found[1]] = _ESCAPE.sub(lambda one: "\n" if one[1] == "n" else one[1], found[2])
            at = found.end() + (rest[found.end()] == ",")
        assert rest[at] == "}", line
        rest = rest[at + 1 :]
    assert rest.startswith(" "), line
    assert " " not in rest[1:], line
    return tuple(sorted(labels.items())), float(rest[1:])
