"""Text from anywhere made fit for a terminal: nothing in it moves a cursor, hides a word or breaks a line."""


def printable(text: str, keep: str = "") -> str:
    """The text with all that does not show spelled out, as `\\n`, `\\x1b`, `\\u202e`; but for `keep`."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each in keep else _spelled(each) for each in text)


def _spelled(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
