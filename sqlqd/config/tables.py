"""Tables of TOML read by a list of keys: what is wrong is collected, never the end of reading."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, field, fields
from typing import Any, NamedTuple

from sqlqd.config.kinds import Kind, Path, Unfit, show

Problem = tuple[Path, str]
"""Where, as the keys that lead there, and what."""


class Key(NamedTuple):
    """One key of a table: the field that it fills, what it may be, and its text."""

    field: str
    kind: Kind
    text: str


def key(kind: Kind, text: str, *, default: Any = MISSING, make: Any = MISSING, name: str = "") -> Any:
    """Declare a field of a dataclass as a key of a table; `name` where the key is called otherwise."""
    return field(default=default, default_factory=make, metadata={"key": (name, kind, text)})


def keys(declared: Any) -> dict[str, Key]:
    """The keys that a dataclass declares, by their names."""
    found: dict[str, Key] = {}
    for one in fields(declared):
        if "key" in one.metadata:
            name, kind, text = one.metadata["key"]
            found[name or one.name] = Key(one.name, kind, text)
    return found


def fill(
    raw: Mapping[str, object], known: Mapping[str, Key], at: Path, problems: list[Problem]
) -> dict[str, Any]:
    """The values of the table at `at`, by field; what is wrong goes to `problems`."""
    values: dict[str, Any] = {}
    for name, value in raw.items():
        if name not in known:
            problems.append(((*at, name), f"unknown key{meant(name, known)}"))
            continue
        try:
            values[known[name].field] = known[name].kind(value)
        except Unfit as unfit:
            problems += [((*at, name, *below), text) for below, text in unfit.problems]
    return values


def table(known: Mapping[str, Key], make: Callable[..., object]) -> Kind:
    """A kind: a table of its own with these keys, of whose values `make` makes what is wanted."""

    def read(raw: object) -> object:
        if not isinstance(raw, dict):
            raise Unfit(f"must be a table such as {{ {next(iter(known))} = … }}, not {show(raw)}")
        found: list[Problem] = []
        values = fill(raw, known, (), found)
        if found:
            raise Unfit(problems=tuple(found))
        return make(**values)

    return read


def spell(path: Path) -> str:
    """A path as people read it: `env.LANG`, `command[0]`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + (part if part.isprintable() else show(part))
    return text


def meant(word: str, known: Iterable[str]) -> str:
    """` (did you mean "…"?)`, or nothing where no known word is near."""
    from difflib import get_close_matches  # noqa: PLC0415 - only those who err pay for it

    near = get_close_matches(word.lower(), known, n=1)
    return f" (did you mean {show(near[0])}?)" if near else ""
