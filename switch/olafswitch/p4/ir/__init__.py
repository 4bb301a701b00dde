"""The checked program (``nodes``) and its types (``types``): the result of checking."""
