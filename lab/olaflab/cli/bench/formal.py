"""``olaflab bench formal``: what is proved about OlafQueue's Verilog."""

import click

from olafswitch.errors import EXIT_FAILED


@click.command()
@click.argument("names", nargs=-1)
def command(names: tuple[str, ...]) -> None:
    """Prove properties of OlafQueue's Verilog with Yosys and ABC.

    NAMES are the proofs to make: control, whole (some minutes), newest, windows, stability, conservation;
    all when none is given. Exit code 1 when a check can fail. Needs the extra [synth].
    """
    from olaflab.queue.formal import proofs
    from olafswitch.errors import BadInput, Problem

    known = {proof.name: proof for proof in proofs.PROOFS}
    if unknown := [name for name in names if name not in known]:
        raise BadInput(
            Problem(f"proof {unknown[0]!r} does not exist", remedy=f"choose of {', '.join(known)}")
        )
    failed = False
    for outcome in proofs.run_all(tuple(known[name] for name in names or known)):
        proof = outcome.proof
        reach = f"{proof.cycles} cycles" if proof.cycles else "unbounded"
        failed |= outcome.failed_at is not None
        verdict = "holds" if outcome.failed_at is None else f"fails in cycle {outcome.failed_at}"
        click.echo(f"{proof.name:<17}{verdict:<20}{reach:<12}{outcome.checks:>3} checks: {proof.claim}")
        for assumption in proof.assumptions:
            click.echo(f"{'':<17}assumed: {assumption}")
    if failed:
        raise SystemExit(EXIT_FAILED)
