"""From a testbed to the files that vary with it."""
