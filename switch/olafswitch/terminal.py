"""Text from elsewhere (names, peers' errors, files) must not steer a terminal."""


def escape_controls(text: str) -> str:
    """Return ``text`` as one line, with characters that are not printable written out: controls, line ends,
    and those that change the direction of writing."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
