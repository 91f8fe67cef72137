"""What the keys of one configuration have to agree on: said of the key that is to change."""

from collections.abc import Iterator, Mapping
from typing import Any

from sqlqd import placeholders
from sqlqd.config.tables import Problem


def merged(name: str, defaults: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """A queue with the defaults worked in. The one that gets dead jobs does not send its own to itself."""
    queue = {**defaults, **own}
    if queue.get("on_dead") == name and "on_dead" not in own:
        del queue["on_dead"]
    return queue


def contradictions(queues: Mapping[str, Mapping[str, Any]]) -> Iterator[Problem]:
    """What contradicts what, in queues with their defaults worked in."""
    for name, queue in queues.items():
        at = ("queues", name)
        if not queue.get("success_codes", True):
            yield (*at, "success_codes"), "cannot be empty: no job would ever be done"
        both = queue.get("success_codes", frozenset({0})) & queue.get("dead_codes", frozenset())
        if both:
            codes = ", ".join(str(code) for code in sorted(both))
            yield (*at, "dead_codes"), f"{codes} is among success_codes too: it can mean one thing only"
        command = queue.get("command", "")
        for number, text in placeholders.problems(command):
            yield (*at, "command", *(() if number is None else (number,))), text
        if placeholders.fields(command) and not queue.get("json"):
            yield (*at, "command"), '{payload.field} needs payload = "json"'
        heir = queue.get("on_dead")
        if heir == name:
            yield (*at, "on_dead"), "must be another queue: a dead job would come back for ever"
        elif heir is not None and heir not in queues:
            yield (*at, "on_dead"), "is no queue of this configuration"
        elif heir is not None and name in _heirs(heir, queues):
            yield (*at, "on_dead"), "leads back to this queue: a dead job would come back for ever"


def _heirs(name: str, queues: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """All queues that dead jobs of one come to, by whatever way."""
    found: set[str] = set()
    heir: str | None = queues[name].get("on_dead")
    while heir is not None and heir in queues and heir not in found:
        found.add(heir)
        heir = queues[heir].get("on_dead")
    return found
