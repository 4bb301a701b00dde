"""A training at one version, as bytes that one member gives another."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from olaf.replicas.group import Line


@dataclass
class Snapshot:
    """A whole training at one version."""

    line: Line
    version: int
    chain: int
    bases: list[int]
    state: bytes

    def pack(self) -> bytes:
        """A line of JSON, the bases, and the state."""
        era, leader, identity = self.line
        head = {"version": self.version, "chain": self.chain, "line": [era, *leader, identity]}
        head["bases"] = len(self.bases)
        return json.dumps(head).encode() + b"\n" + np.array(self.bases, ">u4").tobytes() + self.state

    @classmethod
    def unpack(cls, data: bytes) -> Snapshot:
        """Raises ValueError for what is none."""
        end = data.index(b"\n")
        try:
            head = json.loads(data[:end])
            era, host, number, identity = head["line"]
            line = Line(int(era), (str(host), int(number)), int(identity))
            version, chain, state = int(head["version"]), int(head["chain"]), end + 1 + 4 * int(head["bases"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a snapshot: {error}") from error
        bases = np.frombuffer(data[end + 1 : state], ">u4").tolist()
        return cls(line, version, chain, bases, data[state:])
