"""``olafswitch run``: a P4 program as a switch."""

from pathlib import Path

import click

from olafswitch.console.output import log_progress, print_lines

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("file", type=_FILE)
@click.option(
    "--port", "-p", "ports", multiple=True, metavar="NUMBER=KIND:WHERE",
    help="A port; KIND:WHERE is veth:INTERFACE, tap:INTERFACE, unix:PATH or pcap:IN,OUT. Repeat it.",
)  # fmt: skip
@click.option(
    "--listen", metavar="ADDRESS",
    help="Where to serve P4Runtime: unix:PATH, which only you may use, or HOST:PORT. Every local user reaches"
         " a loopback port; any other HOST needs TLS.  [default: a UNIX socket, printed at the start]",
)  # fmt: skip
@click.option("--tls-cert", type=_FILE, help="PEM file with the server's certificate, for HOST:PORT.")
@click.option("--tls-key", type=_FILE, help="PEM file with its private key.")
@click.option(
    "--tls-ca", type=_FILE,
    help="PEM file of a certificate authority: only its clients may connect. Without it every client may.",
)  # fmt: skip
@click.option(
    "--device-id", type=click.IntRange(0, 2**64 - 1), default=1, show_default=True,
    help="The P4Runtime device id that clients name; BMv2's default is 0.",
)  # fmt: skip
@click.option(
    "--cpu-port", type=click.IntRange(1, 510), default=510, show_default=True,
    help="The port number of packet-in and packet-out.",
)  # fmt: skip
def command(
    file: Path,
    ports: tuple[str, ...],
    listen: str | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    tls_ca: Path | None,
    device_id: int,
    cpu_port: int,
) -> None:
    """Run FILE, a v1model program, as a switch between ports.

    It is served over P4Runtime and forwards at once, with its own entries; a P4Runtime client may program it
    or push another program. Ends with Ctrl-C or SIGTERM and prints what each port counted.

    Exit codes: 0 when ended by a signal, 1 when a port or the address cannot be opened, 2 for a wrong option
    or program, 3 without a C++ compiler.
    """
    from olafswitch import main_thread
    from olafswitch.engine import lone
    from olafswitch.errors import BadInput, Problem
    from olafswitch.p4.compiler import compile_program
    from olafswitch.p4runtime import address as addresses
    from olafswitch.ports import spec

    specs = spec.parse_ports(ports, cpu_port)
    if (tls_cert is None) != (tls_key is None) or (tls_ca is not None and tls_cert is None):
        raise BadInput(Problem("TLS needs both", "--tls-cert, --tls-key", "give both, or neither"))
    tls = addresses.Tls(tls_cert, tls_key, tls_ca) if tls_cert and tls_key else None
    address = listen or addresses.of_socket(addresses.runtime_folder() / f"p4-run-{device_id}.sock")
    addresses.check_address(address, tls)
    program = compile_program(file, progress=log_progress)
    if program.architecture != "v1model":
        what = f"the program is for {program.architecture}, which has no ports; only v1model's has"
        raise BadInput(Problem(what, str(file)))
    with lone.run_lone(program, specs, address, tls, device_id, cpu_port) as switch:
        served = f"device {device_id} at {switch.address}, {len(specs)} ports; Ctrl-C ends it"
        main_thread.serve(lambda: print_lines(served), lambda: None)
        for port in specs:
            stats = switch.engine.port_stats(port.number)
            print_lines(
                f"port {port.number}: {stats.rx_frames} in, {stats.tx_frames} out, "
                f"{stats.rx_dropped + stats.tx_dropped} dropped"
            )
