"""``simple_switch_grpc`` and ``simple_switch``, with BMv2's options."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NoReturn

import click

from olafswitch import __version__
from olafswitch.console.output import print_lines
from olafswitch.dropin.options import ignore_options, list_ignored, refuse_options, run_command
from olafswitch.terminal import escape_controls

_FLAGS = ("--log-flush", "--debugger", "--enable-swap", "--disable-swap", "--warn-on-invalid-hdr-read",
          "--ret-zero-on-invalid-hdr-read")  # fmt: skip
_VALUED = ("--nanolog", "--notifications-addr", "--debugger-addr", "--dump-packet-data", "--log-level", "-L",
           "--log-file-max-size", "--log-file-max-files", "--max-port-count", "--priority-queues",
           "--rate-limiter-rate", "--rate-limiter-burst", "--max-mc-groups", "--max-l1-entries",
           "--max-l2-entries")  # fmt: skip
_REFUSED_FLAGS = {"--json-version": "BMv2's JSON is not read; this folder's p4c writes what is"}
_REFUSED_VALUED = {
    "--packet-in": "frames come in by -i, also from files with --use-files",
    "--dp-grpc-server-addr": "frames come in by -i, also from files with --use-files",
    "--restore-state": "no state is saved; write it over P4Runtime",
    "--load-modules": "no extern of another's is loaded",
}
_EVERY_HOST = ("0.0.0.0", "[::]")
_DROP_PORT = 511
_THRIFT_PORT = 9090  # BMv2's default
_FILE = click.Path(path_type=Path)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file", type=_FILE, required=False)
@click.option(
    "-i", "--interface", "interfaces", multiple=True, metavar="PORT@INTERFACE", help="A port. Repeat it."
)
@click.option(
    "--device-id", type=click.IntRange(0, 2**64 - 1), default=0, help="What P4Runtime clients name."
)
@click.option("--thrift-port", type=click.IntRange(1, 65535),
              help="A port of 127.0.0.1 for simple_switch_CLI; it speaks P4Runtime, no Thrift.")  # fmt: skip
@click.option("--grpc-server-addr", metavar="HOST:PORT", default="0.0.0.0:9559",
              help="Where to serve P4Runtime. 0.0.0.0 is 127.0.0.1 here unless there is TLS.")  # fmt: skip
@click.option("--grpc-server-ssl", is_flag=True, help="Serve with TLS.")
@click.option("--grpc-server-cert", type=_FILE, help="PEM file with the server's certificate.")
@click.option("--grpc-server-key", type=_FILE, help="PEM file with its private key.")
@click.option("--grpc-server-cacert", type=_FILE, help="PEM file of the clients' authority.")
@click.option("--grpc-server-with-client-auth", is_flag=True, help="Ask clients for a certificate.")
@click.option(
    "--cpu-port", type=click.IntRange(1, 510), default=510, help="The port of packet-in and packet-out."
)
@click.option("--drop-port", type=int, default=_DROP_PORT, help="511 alone.")
@click.option("--no-p4", is_flag=True, help="Start without a program: a P4Runtime client will push one.")
@click.option(
    "--pcap", metavar="[FOLDER]", type=_FILE, help="Write INTERFACE_in.pcap and INTERFACE_out.pcap there."
)
@click.option(
    "--use-files", type=int, help="Ports are files: -i N@NAME reads NAME_in.pcap, writes NAME_out.pcap."
)
@click.option("--log-console", is_flag=True, help="Log to the standard output.")
@click.option("--log-file", type=_FILE, help="Log to this file, with .txt added.")
@click.version_option(__version__, "--version", "-v", message="%(prog)s of olafswitch %(version)s")
@ignore_options(_FLAGS, _VALUED)
@refuse_options(_REFUSED_FLAGS, _REFUSED_VALUED)
def switch(
    file: Path | None, interfaces: tuple[str, ...], device_id: int, thrift_port: int | None,
    grpc_server_addr: str, grpc_server_ssl: bool, grpc_server_cert: Path | None, grpc_server_key: Path | None,
    grpc_server_cacert: Path | None, grpc_server_with_client_auth: bool, cpu_port: int, drop_port: int,
    no_p4: bool, pcap: Path | None, use_files: int | None, log_console: bool, log_file: Path | None,
    **unused: Any,
) -> None:  # fmt: skip
    """Run FILE, which p4c or p4c-bm2-ss of this folder compiled, as a switch between interfaces.

    Options of BMv2's that have no effect here are taken and named in the log; unknown ones are refused. Ends
    with Ctrl-C or SIGTERM.
    """
    from olafswitch import main_thread
    from olafswitch.engine import lone
    from olafswitch.errors import BadInput, Problem
    from olafswitch.p4runtime import address as addresses

    name = click.get_current_context().info_name or ""
    if (file is None) != no_p4:
        raise BadInput(Problem("give the compiled program, or --no-p4", name))
    if drop_port != _DROP_PORT:
        raise BadInput(Problem(f"port {_DROP_PORT} is the drop port", f"--drop-port {drop_port}"))
    specs = _parse_ports(interfaces, cpu_port, use_files is not None)
    tls = None
    if grpc_server_ssl:
        if grpc_server_cert is None or grpc_server_key is None:
            raise BadInput(Problem("needs --grpc-server-cert and --grpc-server-key", "--grpc-server-ssl"))
        tls = addresses.Tls(
            grpc_server_cert, grpc_server_key, grpc_server_cacert if grpc_server_with_client_auth else None
        )
    program = _load_program(file) if file is not None else None
    notes = []
    others: list[str] = []
    if name == "simple_switch":
        thrift_port = thrift_port or _THRIFT_PORT
        address = f"127.0.0.1:{thrift_port}"
    else:
        address = grpc_server_addr
        host, _, port = address.rpartition(":")
        if tls is None and host in _EVERY_HOST:
            address = f"127.0.0.1:{port}"
            notes.append(f"P4Runtime at {address} alone: for other hosts, add --grpc-server-ssl")
        if thrift_port:
            others.append(f"127.0.0.1:{thrift_port}")
    if thrift_port:
        notes.append(
            f"no Thrift at port {thrift_port}: P4Runtime, which simple_switch_CLI of this folder speaks"
        )
    if dropped := list_ignored(unused):
        notes.append(f"without effect here: {', '.join(dropped)}")
    with ExitStack() as stack:
        say = stack.enter_context(_open_log(log_file, log_console))
        running = stack.enter_context(
            lone.run_lone(program, specs, address, tls, device_id, cpu_port, others, as_bmv2=True)
        )
        if pcap is not None:
            stack.enter_context(_record_ports(specs, pcap))
        notes.append(f"device {device_id} at {running.address}, {len(specs)} ports")

        def announce() -> None:
            for note in notes:
                say(note)

        main_thread.serve(announce, lambda: None)


def _parse_ports(texts: Sequence[str], cpu_port: int, files: bool) -> Sequence[Any]:
    """Return the ports that ``PORT@INTERFACE`` texts name, as :mod:`olafswitch.ports.spec` parses them."""
    from olafswitch.errors import BadInput, Problem
    from olafswitch.ports import spec

    wrong = [text for text in texts if not all(text.partition("@"))]
    if wrong:
        raise BadInput(*(Problem("is not PORT@INTERFACE", f"-i {text}", "as -i 1@veth0") for text in wrong))
    pairs = [(number, where) for number, _, where in (text.partition("@") for text in texts)]
    if files:
        named = [f"{number}=pcap:{where}_in.pcap,{where}_out.pcap" for number, where in pairs]
    else:
        named = [f"{number}=veth:{where}" for number, where in pairs]
    return spec.parse_ports(named, cpu_port)


def _load_program(file: Path) -> Any:
    from olafswitch.errors import BadInput, Problem
    from olafswitch.p4.compiler import compile_text
    from olafswitch.p4.device_config import source_of

    try:
        text = source_of(file.read_bytes())
    except ValueError as error:
        raise BadInput(Problem(str(error).replace("the device_config", "this"), str(file))) from None
    program = compile_text(text, file=str(file))
    if program.architecture != "v1model":
        raise BadInput(Problem(f"the program is for {program.architecture}, not v1model", str(file)))
    return program


@contextmanager
def _open_log(file: Path | None, console: bool) -> Iterator[Callable[[str], None]]:
    """Yield a function that logs a line where BMv2 would, or else prints it on the standard error."""
    if file is None:
        yield lambda line: print_lines(line, err=not console)
        return
    with Path(f"{file}.txt").open("w", buffering=1) as log:
        yield lambda line: print(escape_controls(line), file=log)


@contextmanager
def _record_ports(ports: Sequence[Any], folder: Path) -> Iterator[None]:
    """Write the frames that pass each interface to two pcap files of its own, inside the ``with`` block."""
    import socket
    import threading

    from olafswitch.ports import capture
    from olafswitch.ports.attachment import Attachment
    from olafswitch.ports.pcap import PcapWriter
    from olafswitch.ports.transport import Transport

    with ExitStack() as stack:
        asleep, waker = socket.socketpair()
        stack.callback(asleep.close)
        rows = []
        for port in (port for port in ports if port.transport is Transport.VETH):
            listener = capture.listen_at(Attachment(port.number, port.transport, port.where))
            stack.callback(listener.close)
            files = []
            for way in ("in", "out"):
                path = folder / f"{port.where}_{way}.pcap"
                path.unlink(missing_ok=True)
                files.append(PcapWriter(path))
                stack.callback(files[-1].close)
            rows.append((listener, files))
        thread = threading.Thread(target=_record_frames, args=(rows, asleep))
        thread.start()
        stack.callback(thread.join)
        stack.callback(waker.close)
        yield


def _record_frames(rows: Sequence[tuple[Any, Sequence[Any]]], until: Any) -> None:
    import select

    from olafswitch.errors import OlafError

    waiting = select.poll()
    by_descriptor = {listener.fileno(): (listener, files) for listener, files in rows}
    for each in (until.fileno(), *by_descriptor):
        waiting.register(each, select.POLLIN)
    while True:
        ready = {descriptor for descriptor, _ in waiting.poll()}
        for descriptor in ready & by_descriptor.keys():
            listener, (into, out) = by_descriptor[descriptor]
            try:
                for seen in listener.seen():
                    (out if seen.outbound else into).write(seen.frame, seen.when)
            except OlafError:  # the interface is gone: the switch's port says so
                waiting.unregister(descriptor)
        if until.fileno() in ready:
            return


def _prepare_words(words: Sequence[str]) -> list[str]:
    """Return the words without ``--``, which precedes options of BMv2's target; give ``--pcap`` a folder."""
    made: list[str] = []
    for at, word in enumerate(words):
        if word == "--pcap" and not (at + 1 < len(words) and Path(words[at + 1]).is_dir()):
            made += [word, "."]
        elif word != "--":
            made.append(word)
    return made


def main(name: str) -> NoReturn:
    """Be ``simple_switch`` or ``simple_switch_grpc``."""
    run_command(switch, name, _prepare_words(sys.argv[1:]))
