"""The version, as a constant: asking the package's metadata would cost every command 48 ms."""

VERSION = "0.1.0"
# What `hatch version` reads.
__version__ = VERSION
