"""Tables of TOML read by a list of keys: what is wrong is collected, never the end of reading."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, NamedTuple, Self, dataclass_transform

from sqlqd.config.kinds import Kind, Path, Unfit, show

Problem = tuple[Path, str]
"""Where, as the keys that lead there, and what."""


class Key(NamedTuple):
    """One key of a table: the field that it fills, what it may be, and its text."""

    field: str
    kind: Kind
    text: str


class _Declared(NamedTuple):
    name: str
    kind: Kind
    text: str
    default: Any
    factory: Callable[[], Any] | None


_NONE: Any = object()


def key(
    kind: Kind, text: str, *, default: Any = _NONE, factory: Callable[[], Any] | None = None, name: str = ""
) -> Any:
    """Declare a field as a key of a table; `name` where the key is called otherwise."""
    return _Declared(name, kind, text, default, factory)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(key,))
class Table:
    """The values of a table, whose class declares its keys.

    As frozen dataclasses are, which would take milliseconds of every command to make.
    """

    keys: ClassVar[dict[str, Key]]
    """Those that are declared, by their names."""
    _declared: ClassVar[dict[str, _Declared]]

    def __init_subclass__(cls) -> None:
        """Gather what the class declares."""
        cls._declared = {field: one for field, one in vars(cls).items() if isinstance(one, _Declared)}
        cls.keys = {one.name or field: Key(field, one.kind, one.text) for field, one in cls._declared.items()}

    def __init__(self, **values: Any) -> None:
        """Every field by its name, but for those that have a default."""
        for field, one in self._declared.items():
            if field not in values:
                values[field] = one.factory() if one.factory else one.default
        lacking = [field for field in type(self).__annotations__ if values.get(field, _NONE) is _NONE]
        if lacking or len(values) > len(type(self).__annotations__):
            raise TypeError(f"{type(self).__name__} has other fields than {', '.join(values)}")
        vars(self).update(values)

    def __setattr__(self, name: str, value: object) -> None:
        """Values stay as they are."""
        raise AttributeError(f"{type(self).__name__}.{name} cannot be set: make another by `replaced`")

    def __eq__(self, other: object) -> bool:
        """By the values."""
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        """By the values."""
        return hash(tuple(vars(self).values()))

    def __repr__(self) -> str:
        """The values by their fields."""
        values = ", ".join(f"{field}={value!r}" for field, value in vars(self).items())
        return f"{type(self).__name__}({values})"

    def replaced(self, **values: Any) -> Self:
        """Another one with these values."""
        return type(self)(**{**vars(self), **values})


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
