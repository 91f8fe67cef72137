"""What a store cannot do, by kind: each text tells a person what to do next."""


class StoreError(Exception):
    """The store cannot do it; the text tells a person what to do next."""


class StoreBusy(StoreError):
    """Others kept it locked for all of the time allowed; nothing was changed."""


class Interrupted(StoreBusy):
    """The wait for the lock was given up because the caller's stop flag was raised."""


class StoreMissing(StoreError):
    """There is no database at that path, or its directory is missing."""


class StoreDenied(StoreError):
    """The system refuses this user the file or its directory."""


class StoreFailed(StoreError):
    """Input or output failed: disk full, I/O error, damaged file."""


class StoreReplaced(StoreError):
    """The file at the path is no longer the one that was opened."""


class StoreForeign(StoreError):
    """The file is not ours to use: another application's tables, or a schema newer than this program."""


class QueueFull(StoreError):
    """So many jobs of its queue wait that a new one is refused; nothing was changed."""


class KeyTaken(StoreError):
    """A live job has the key of one that was to be the only one; nothing was changed."""


class JobRefused(StoreError):
    """A new job breaks a rule of the schema; the text names it."""
