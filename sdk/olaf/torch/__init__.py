"""Optimisers of torch that train through Olaf. Importing this room needs torch.

``attach`` connects an optimiser and returns a ``Link``, or with ``mode="replica"`` a ``Replicated``;
``Importance`` has importance weights over all learners (Stellaris §V-B); ``flat`` a model's parameters as one
vector. ``rllib`` has RLlib's learners, and needs Ray.
"""

from __future__ import annotations

from olaf.torch.importance import Importance, clipped, truncated
from olaf.torch.link import Link, attach
from olaf.torch.replicated import Replicated

__all__ = ["Importance", "Link", "Replicated", "attach", "clipped", "truncated"]
