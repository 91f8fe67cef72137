"""What is said of a configuration that cannot be used."""


class ConfigError(Exception):
    """The configuration is wrong or missing; `problems` has one line for each thing to mend."""

    def __init__(self, *problems: str) -> None:
        """Each problem is `file:line: text`, or one line that says what is missing."""
        super().__init__("\n".join(problems))
        self.problems = problems


class ConfigDenied(ConfigError):
    """The system refuses this user the file."""
