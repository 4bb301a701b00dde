"""What reaches a terminal from elsewhere (names, peers' errors, files) must not steer it."""


def escape_controls(text: str) -> str:
    """Return ``text`` as one line, with what is not printable written out: controls, line ends, and what
    turns the direction of writing."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
