"""The checked program (:mod:`nodes`) and its types (:mod:`types`): the result of checking."""
