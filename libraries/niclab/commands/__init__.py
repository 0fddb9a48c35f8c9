"""The ``niclab`` command and its subcommands."""
