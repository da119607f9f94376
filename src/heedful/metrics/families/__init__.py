"""What each benchmark counts, a file each; see :mod:`heedful.metrics.family`."""
