"""Cores and GPUs that are held, and for how long: every second once, and none left out (ARTOS §6)."""

from __future__ import annotations

from collections import defaultdict

CPU, GPU = "cpu", "gpu"


class Held:
    """Seconds by kind of resource; a holder has one of each kind at a time."""

    def __init__(self) -> None:
        self._since: dict[tuple[str, object], float] = {}
        self._seconds: dict[str, float] = defaultdict(float)

    def hold(self, kind: str, holder: object, now: float) -> None:
        """From now on. Raises ValueError if the holder already has one."""
        if (kind, holder) in self._since:
            raise ValueError(f"{holder} already holds a {kind}")
        self._since[kind, holder] = now

    def free(self, kind: str, holder: object, now: float) -> float:
        """Until now; for how many seconds. Raises ValueError where the holder has none."""
        since = self._since.pop((kind, holder), None)
        if since is None:
            raise ValueError(f"{holder} holds no {kind}")
        self._seconds[kind] += now - since
        return now - since

    def holding(self, kind: str) -> int:
        """How many are held."""
        return sum(each == kind for each, _ in self._since)

    def seconds(self, kind: str, now: float) -> float:
        """All until now, of what is held still too."""
        open_ = sum(now - since for (each, _), since in self._since.items() if each == kind)
        return self._seconds[kind] + open_
