"""A library of toy suites that handles signals as the library ``Lab`` does."""

import Abort

Abort.install()
