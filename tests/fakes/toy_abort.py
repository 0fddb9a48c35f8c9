"""A library of toy suites that handles signals as the library ``Bench`` does."""

from listeners import Abort

Abort.install()
