"""BMv2's switches by themselves: an engine's two joined by a cable, without the queue and its process.

It shows how much of the chain's time the switches take with the same frames and tables. The queue process
also relays between hosts and switches, so here frames go in and out where it does that.
"""

import psutil

from olafctl.network import ip
from olafctl.network.interfaces import cables_of
from olafctl.targets import processes
from olafctl.targets.bmv2.wiring import FIRST_FRONT, FROM_FIRST, SECOND_FRONT, TO_SECOND, cables
from olafctl.targets.deployment import required
from olafctl.targets.interface import Running
from olafctl.testbed.model import Testbed
from olafswitch.ports.attachment import Attachment
from olafswitch.ports.transport import Transport

_QUEUE_PROCESS = "olafctl.targets.bmv2.process"


def unplug(running: Running, testbed: Testbed) -> tuple[Attachment, Attachment]:
    """Take the queue process out of a BMv2 deployment of one engine, for good.

    Returns where the first worker's frames go in, and where those for its parameter server come out.
    Raises OlafError.
    """
    state = running.logs()[0].parent
    namespace = cables_of(state)
    for process in processes.of_engine(state):
        if _QUEUE_PROCESS in process.cmdline():
            process.kill()
            psutil.wait_procs([process])
    ends = {cable.relay_port: cable.pair.outer for cable in cables(required(state).engines)}
    redirect = f"protocol all u32 match u32 0 0 action mirred egress redirect dev {ends[TO_SECOND]}"
    for command in ("qdisc add dev {} clsact", f"filter add dev {{}} ingress {redirect}"):
        ip.run(["-n", namespace, *command.format(ends[FROM_FIRST]).split()], state, "tc")

    def end(number: int, side: int) -> Attachment:
        return Attachment(number, Transport.VETH, ends[side + number], namespace)

    return end(testbed.workers[0].port, FIRST_FRONT), end(testbed.parameter_servers[0].port, SECOND_FRONT)
