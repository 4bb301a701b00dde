"""Training on LunarLander: the recorder of traces, and the SDK's parameter server and workers for a testbed.

Workers run in wall time over real ports, or in virtual time through the twin. Recorder and workers need the
extra ``[train]``, server and workers the SDK, ``olaf``.
"""
