"""``olafswitch simulate``: a program's Verilog in Verilator, with STF files, pcap files and waveforms."""

from pathlib import Path

import click

from olafswitch.console.output import count_noun, json_option, log_progress, print_json, print_lines

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--stf", "stf_file", type=_FILE, help="Table entries, frames and what must leave, as STF.")
@click.option(
    "--port", "-p", "ports", multiple=True, metavar="NUMBER=pcap:IN,OUT",
    help="A port: frames of the file IN come in, in the order of their times; OUT gets what leaves.",
)  # fmt: skip
@click.option("--trace", type=click.Path(dir_okay=False, path_type=Path),
              help="Write the waveforms to this file, as VCD.")  # fmt: skip
@click.option("--listen", metavar="ADDRESS",
              help="Then serve P4Runtime there until Ctrl-C: unix:PATH or HOST:PORT; device 1.")  # fmt: skip
@json_option("Print frames, cycles and the first difference as JSON.")
def command(
    folder: Path,
    stf_file: Path | None,
    ports: tuple[str, ...],
    trace: Path | None,
    listen: str | None,
    as_json: bool,
) -> None:
    """Simulate the Verilog of a program.

    `compile --verilog` wrote it to FOLDER.

    Runs the STF file first, if one is given, then the frames of the pcap files. A client of --listen pushes
    the P4Info and, as device config, the JSON file in FOLDER; packet-outs go through the module. Exit code 1
    when something else leaves than the STF file expects, 3 without Verilator or a C++ compiler.
    """
    from olafswitch import main_thread
    from olafswitch.errors import EXIT_FAILED, BadInput, Problem
    from olafswitch.p4.hardware.simulated import SimulatedSwitch
    from olafswitch.p4.stf.commands import Unreadable
    from olafswitch.p4.stf.play import play_file
    from olafswitch.p4runtime.agent import serve_devices
    from olafswitch.p4runtime.dataplane import Unsupported
    from olafswitch.ports import spec
    from olafswitch.ports.pcap import PcapWriter, read_capture, why_not_written
    from olafswitch.ports.transport import Transport

    specs = spec.parse_ports(ports, 511)
    problems = [
        Problem("only pcap ports are simulated", f"--port {each.number}", "write NUMBER=pcap:IN,OUT")
        for each in specs if each.transport != Transport.PCAP
    ]  # fmt: skip
    frames: list[tuple[int, int, bytes]] = []
    outputs: dict[int, Path] = {}
    for each in specs if not problems else ():
        came, left = each.where.split(",")
        try:
            if came:
                read = read_capture(Path(came))
                if not read:
                    log_progress(f"{came}: has no frame")
                frames += [(when, each.number, frame) for when, frame in read]
            if left and (why := why_not_written(Path(left))):
                problems.append(Problem(why, f"--port {each.number}", "choose another file"))
            elif left:
                outputs[each.number] = Path(left)
        except (OSError, ValueError) as error:
            problems.append(Problem(str(error), f"--port {each.number}"))
    if problems:
        raise BadInput(*problems)
    if suffix := trace.suffix if trace is not None and trace.suffix != ".vcd" else "":
        raise click.BadParameter(f"{suffix} is not written; name a .vcd file", param_hint="--trace")

    switch = SimulatedSwitch.of_folder(folder, trace, log_progress)
    writers = {number: PcapWriter(path) for number, path in outputs.items()}
    try:
        if "ingress_port" not in switch.about["sideband_in"]:
            raise BadInput(
                Problem("is for XSA, which has no ports; only v1model's are simulated", str(folder))
            )
        difference = ""
        if stf_file is not None:
            try:
                difference = play_file(switch, switch.p4info, stf_file.read_text())
            except (Unreadable, Unsupported) as error:
                raise BadInput(Problem(str(error), str(stf_file))) from None
        frames.sort(key=lambda each: each[0])
        sent = []
        for when, port, frame in frames:
            sent += [(when, *each) for each in switch.process(port, frame, when)]
        for when, port, frame in sent:
            if port in writers:
                writers[port].write(frame, when)
        if listen is not None:
            with serve_devices({1: switch}, listen) as agent:
                main_thread.serve(lambda: print_lines(f"P4Runtime at {agent.address}"), lambda: None)
        cycles = switch.bench.cycles()
    finally:
        switch.close()
        for writer in writers.values():
            writer.close()
    lines = [f"{count_noun(len(frames), 'frame')} in, {len(sent)} out, {count_noun(cycles, 'cycle')}"]
    if stf_file is not None:
        lines.insert(0, f"{stf_file}: {difference or 'as expected'}")
    if trace is not None:
        lines.append(f"wrote {trace}")
    if as_json:
        print_json({"frames_in": len(frames), "frames_out": len(sent), "cycles": cycles,
                    "difference": difference})  # fmt: skip
    else:
        print_lines(*lines)
    if difference:
        raise SystemExit(EXIT_FAILED)
