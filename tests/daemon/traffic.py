"""Workers of all clusters of a testbed that send updates, and the SDK's parameter server for them."""

import itertools
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from olaf import ParameterServer
from olaf.transport.segments import Segments

from olafctl.control import serving
from olafctl.daemon.api.client import DaemonClient
from olafctl.wire.frames import pack_header
from olafctl.wire.layouts import OLAF, FrameType
from olafswitch.ports.host import open_host_port
from tests.daemon.deployment import KeptDeployment, make_frame
from tests.daemon.sdk_port import FramePort

_VALUES = 16
_TIME_BITS = 48


@contextmanager
def send_traffic(stands: KeptDeployment, per_second: float) -> Iterator[threading.Event]:
    """Send updates of all workers in turn and report ages each second; the yielded event ends the sending."""
    testbed, running = stands.testbed, stands.running()
    hosts = {each.number: open_host_port(each) for each in running.attachments}
    [ps] = testbed.parameter_servers
    behind = FramePort(hosts[ps.port], (ps.mac, str(ps.ip), ps.udp_port), testbed.workers[0].mac)
    members, epochs, _ = serving.read_membership(testbed.clusters)
    weights = {
        cluster.name: (Segments(_VALUES, 1), np.zeros(_VALUES, np.float32)) for cluster in testbed.clusters
    }
    server = ParameterServer(port=behind, members=members, epochs=epochs, initial=weights, multicast=True)
    ended = threading.Event()

    def send() -> None:
        for number in itertools.count():
            for worker in sorted(testbed.workers, key=lambda each: each.number):
                if ended.wait(1 / per_second):
                    return
                header = {"version": 1, "frame_type": FrameType.UPDATE, "count": 1, "seq": number,
                          "gen_time": time.time_ns() % (1 << _TIME_BITS)}  # fmt: skip
                source = (worker.mac, str(worker.ip), worker.udp_port)
                payload = pack_header(OLAF, header) + np.ones(_VALUES, "<f4").tobytes()
                hosts[worker.port].send(make_frame(source, (ps.mac, str(ps.ip), ps.udp_port), payload))

    def report() -> None:
        with DaemonClient(stands.client.address) as client:
            while not ended.wait(1.0):
                client.call("ReportAges", **serving.make_reports(server))

    threads = [threading.Thread(target=each, daemon=True) for each in (send, report)]
    for thread in threads:
        thread.start()
    try:
        yield ended
    finally:
        ended.set()
        for thread in threads:
            thread.join()
        server.close()
        for host in hosts.values():
            host.close()
