"""The checked program (:mod:`nodes`) and its types (:mod:`types`): what checking makes and emitting reads."""
