"""A library of toy suites that handles signals as the library ``Lab`` does."""

from listeners import Abort

Abort.install()
