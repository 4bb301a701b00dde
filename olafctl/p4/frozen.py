"""Trees are made of many small classes: each that inherits from Frozen is a frozen dataclass."""

from dataclasses import dataclass, field
from typing import dataclass_transform


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Frozen:
    """A node; its fields are those of a dataclass, and it never changes."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)
