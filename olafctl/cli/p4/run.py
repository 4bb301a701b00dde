"""``olafctl p4 run``: a P4 program as a switch."""

from pathlib import Path

import click

from olafctl.cli.output import log_progress


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--port", "-p", "ports", multiple=True, metavar="NUMBER=KIND:WHERE",
    help="A port; KIND:WHERE is veth:INTERFACE, tap:INTERFACE, unix:PATH or pcap:IN,OUT. Repeat it.",
)  # fmt: skip
@click.option(
    "--grpc", "address", default="127.0.0.1:9559", show_default=True, help="Where to serve P4Runtime."
)
@click.option("--device-id", type=click.IntRange(1, 2**64 - 1), default=1, show_default=True)
@click.option("--cpu-port", type=click.IntRange(1, 510), default=510, show_default=True)
def command(file: Path, ports: tuple[str, ...], address: str, device_id: int, cpu_port: int) -> None:
    """Run FILE, a v1model program, between real ports, and serve it over P4Runtime.

    It forwards at once, with its own entries; a P4Runtime client may program it or push another program.
    Ends with Ctrl-C or SIGTERM.
    """
    from olafctl.engine import lone
    from olafctl.p4.compiler import compile_program
    from olafctl.ports import spec
    from olafctl.targets import main_thread

    specs = spec.parse(ports, cpu_port)
    program = compile_program(file, progress=log_progress)
    with lone.running(program, specs, address, device_id, cpu_port) as switch:
        click.echo(f"device {device_id} at {switch.address}, {len(specs)} ports; Ctrl-C ends it")
        main_thread.serve(None, None, lambda: None)
        for port in specs:
            stats = switch.engine.port_stats(port.number)
            click.echo(
                f"port {port.number}: {stats.rx_frames} in, {stats.tx_frames} out, "
                f"{stats.rx_dropped + stats.tx_dropped} dropped"
            )
