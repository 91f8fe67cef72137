"""Which module may import what, checked over the syntax trees of a mapping of module names to sources."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

TIERS: tuple[frozenset[str], ...] = (
    frozenset({"model", "circumstances", "condition", "clock", "faults", "events", "exits", "board"})
    | frozenset({"timetable", "placeholders", "newjob", "terms"})
    | frozenset({"seat", "identity", "account", "rights", "version"}),
    frozenset(
        {
            "config",
            "limits",
            "units",
            "moments",
            "printable",
            "policy",
            "why",
            "troubles",
            "room",
            "payload",
            "health",
            "metrics",
            "examine",
            "log",
            "patience",
            "store",
        }
    ),
    frozenset({"proc", "tree", "cgroup", "delegation", "systemd", "presence", "relics", "mounts", "holders"}),
    frozenset({"command"}),
    frozenset({"worker"}),
    frozenset({"steward"}),
    frozenset({"parent"}),
    frozenset({"", "api", "producer"}),
    frozenset({"cli"}),
)
"""From the ground up, by first name below `sqlqd`; a module imports from its own tier and those below. "" is
`sqlqd` itself, the way in from Python."""

OUTSIDE: Mapping[str, frozenset[str]] = {
    "apsw": frozenset({"store"}),
    "subprocess": frozenset({"command"}),
    "time": frozenset({"clock"}),
    "sdnotify": frozenset({"systemd"}),
    "cronsim": frozenset({"timetable"}),
    "setproctitle": frozenset({"proc"}),
    "click": frozenset({"cli"}),
    "ctypes": frozenset({"account", "tree", "steward"}),
    "pty": frozenset(),
    "sqlite3": frozenset(),
    "threading": frozenset(),
    "_thread": frozenset(),
    "concurrent": frozenset(),
    "multiprocessing": frozenset(),
    "asyncio": frozenset(),
}
"""What only some may import; what is not named here anyone may."""

FOR_TYPES: Mapping[str, frozenset[str]] = {"sqlite3": frozenset({"", "producer"})}
"""Who may import it where only a type checker reads it."""

USES: Mapping[tuple[str, str], frozenset[str]] = {
    ("os", "fork"): frozenset({"proc"}),
    ("os", "forkpty"): frozenset(),
    ("os", "posix_spawn"): frozenset(),
    ("os", "posix_spawnp"): frozenset(),
    ("os", "system"): frozenset(),
    ("os", "popen"): frozenset(),
    ("datetime", "now"): frozenset({"clock"}),
    ("datetime", "utcnow"): frozenset({"clock"}),
    ("datetime", "today"): frozenset({"clock"}),
    ("date", "today"): frozenset({"clock"}),
}
"""Names of a module or class that only some may use."""

NEVER_BELOW: Mapping[str, frozenset[str]] = {"sqlqd.parent": frozenset({"store", "worker", "steward"})}
"""What a module must not reach, however many imports lie between."""

LIGHT: frozenset[str] = frozenset({"sqlqd", "sqlqd.cli"})
"""Modules whose mere import must not load apsw: the caller's process may have another SQLite in it."""


@dataclass(frozen=True, slots=True)
class Import:
    """One import statement's one target, as a whole dotted name."""

    target: str
    line: int
    for_types: bool
    at_load: bool
    """Executed when the module is loaded, not when a function of it is called."""


def read(package: Path) -> dict[str, str]:
    """The source of every module of a package, by its dotted name."""
    sources = {}
    for path in sorted(package.rglob("*.py")):
        parts = (package.name, *path.relative_to(package).with_suffix("").parts)
        sources[".".join(parts).removesuffix(".__init__")] = path.read_text(encoding="utf-8")
    return sources


def problems(sources: Mapping[str, str]) -> list[str]:
    """Every import or use that breaks a rule, as one line each."""
    trees = {name: ast.parse(source) for name, source in sources.items()}
    imports = {name: list(_imports(tree, frozenset(sources))) for name, tree in trees.items()}
    found: list[str] = []
    for name, tree in trees.items():
        if _tier(name) is None:
            found.append(f"{name}: has no place in TIERS (tests/support/imports.py)")
        for one in imports[name]:
            found += _refused(name, one)
        found += _uses(name, tree)
    return [*found, *_reached(imports), *_circles(imports)]


def _place(module: str) -> str:
    return (module.split(".")[1:] or [""])[0]


def _tier(module: str) -> int | None:
    return next((at for at, names in enumerate(TIERS) if _place(module) in names), None)


def _named(places: frozenset[str]) -> str:
    return f"only {', '.join(sorted(places))}" if places else "nobody"


def _ours(target: str) -> bool:
    return target == "sqlqd" or target.startswith("sqlqd.")


def _imports(
    node: ast.AST, known: frozenset[str], *, for_types: bool = False, at_load: bool = True
) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for alias in child.names:
                yield Import(alias.name, child.lineno, for_types, at_load)
        elif isinstance(child, ast.ImportFrom):
            base = "." * child.level + (child.module or "")
            for alias in child.names:
                inner = f"{base}.{alias.name}"
                yield Import(inner if inner in known else base, child.lineno, for_types, at_load)
        elif isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            for_checker, else_part = ast.Module(child.body, []), ast.Module(child.orelse, [])
            yield from _imports(for_checker, known, for_types=True, at_load=False)
            yield from _imports(else_part, known, for_types=for_types, at_load=at_load)
        else:
            inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from _imports(child, known, for_types=for_types, at_load=at_load and not inside)


def _refused(module: str, one: Import) -> Iterator[str]:
    where = f"{module}:{one.line}: imports {one.target}"
    if one.target.startswith("."):
        yield f"{where}: relative imports hide where a name comes from"
    elif _ours(one.target):
        mine, theirs = _tier(module), _tier(one.target)
        if mine is not None and theirs is not None and theirs > mine:
            yield f"{where}, which stands above it"
    else:
        first = one.target.split(".")[0]
        allowed = FOR_TYPES.get(first, OUTSIDE.get(first)) if one.for_types else OUTSIDE.get(first)
        if allowed is not None and _place(module) not in allowed:
            yield f"{where}: {_named(allowed)} may"


def _uses(module: str, tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        pairs: list[tuple[str, str]] = []
        if isinstance(node, ast.Attribute):
            pairs = [(ast.unparse(node.value).split(".")[-1], node.attr)]
        elif isinstance(node, ast.ImportFrom):
            pairs = [(node.module or "", alias.name) for alias in node.names]
        for pair in pairs:
            allowed = USES.get(pair)
            if allowed is not None and _place(module) not in allowed:
                line = getattr(node, "lineno", 0)
                yield f"{module}:{line}: uses {'.'.join(pair)}: {_named(allowed)} may"


def _below(start: str, imports: Mapping[str, list[Import]], *, at_load: bool) -> set[str]:
    seen, waiting = set[str](), [start]
    while waiting:
        for one in imports.get(waiting.pop(), []):
            if one.for_types or (at_load and not one.at_load) or one.target in seen:
                continue
            seen.add(one.target)
            waiting.append(one.target)
    return seen


def _reached(imports: Mapping[str, list[Import]]) -> Iterator[str]:
    for name, banned in NEVER_BELOW.items():
        for target in sorted(_below(name, imports, at_load=False)):
            if _ours(target) and _place(target) in banned:
                yield f"{name}: reaches {target}"
    for name in sorted(LIGHT):
        if "apsw" in {target.split(".")[0] for target in _below(name, imports, at_load=True)}:
            yield f"{name}: loading it loads apsw"


def _circles(imports: Mapping[str, list[Import]]) -> Iterator[str]:
    graph = {
        name: {one.target for one in ones if one.target in imports and not one.for_types} - {name}
        for name, ones in imports.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        yield f"imports in a circle: {' <- '.join(error.args[1])}"
