"""Looking the managed switch of a bench over: what it is, what its agent has, and what cannot be done with it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from niclab.commands.findings import Finding, look_at
from niclab.core.verdict import BenchFault
from niclab.run.run import Run
from niclab.switch.model import Settable, models_like
from niclab.switch.switch_records import Admin


def examine_switch(run: Run) -> Iterator[Finding]:
    """Look at the switch, from whether it answers to whether each port is there, open, and can be set.

    Args:
        run: The run.
    """
    entry = run.bench.switch
    if entry is None:
        return
    secrets = ", ".join(entry.secret_names)
    mend = (
        f"check address, port, user and secrets {secrets}; SNMP must be switched on in {entry.name} for this controller"
    )
    answer = look_at("switch", "snmp", lambda: _who(run), mend)
    yield answer
    if answer.fault:
        return
    mend = "write `model` of the switch in the bench file; lab/switches/generic.yaml explains what a model says"
    yield look_at("switch", "model", lambda: _model(run), mend)
    mend = f"give the login of {entry.name} a view of the whole tree (1.3.6.1 and 1.2.840.10006)"
    yield look_at("switch", "tables", lambda: ", ".join(each.value for each in run.switch.survey().tables), mend)
    yield look_at("switch", "cannot", lambda: "; ".join(run.switch.survey().cannot) or "nothing that is known", mend)
    for name, port in entry.ports.items():
        mend = f"check {name} in switch.ports against the names that {entry.name} has; open the port if it is shut"
        yield look_at("switch", name, partial(_port, run, port), mend)
    if Settable.PORTS in run.switch.model.sets:
        first = next(iter(entry.ports.values()))
        mend = f"give the login write access to {entry.name} (IF-MIB, Q-BRIDGE-MIB)"
        yield look_at("switch", "write", partial(_write, run, first), mend)


def _who(run: Run) -> str:
    who = run.switch.identity()
    uptime_s = run.switch.uptime().ticks // 100
    facts = [who.maker, who.model, who.serial and f"serial {who.serial}", who.software, f"up {uptime_s} s"]
    return f"{who.name}: {', '.join(fact for fact in facts if fact)}"


def _model(run: Run) -> str:
    """The model that the bench file names, and those that the switch's own words name."""
    model, said = run.switch.model, run.switch.identity().description
    like = models_like(said)
    if model.known_by and model.model not in like:
        known = f"; {', '.join(like)} describes it" if like else ""
        wanted = ", ".join(model.known_by)
        raise BenchFault(f"{run.switch.name}: sysDescr is {said!r}; expected {wanted} of model {model.model}{known}")
    others = [each for each in like if each != model.model]
    return f"{model.model}: {model.description}" + (f" (or {', '.join(others)})" if others else "")


def _port(run: Run, port: str) -> str:
    state = run.switch.ports.state(port)
    if state.admin is not Admin.UP:
        raise BenchFault(f"{run.switch.name}: port {port} is shut (ifAdminStatus {state.admin.name})")
    speed = f" at {state.speed_mbps:g} Mbit/s" if state.speed_mbps else ""
    whole = run.switch.tables.aggregation(port)
    return f"{port} open, {state.oper.name}{speed}" + (f", member of {whole}" if whole else "")


def _write(run: Run, port: str) -> str:
    """Set a port to what it is: nothing changes, and it takes the right to write."""
    run.switch.ports.set_admin(port, run.switch.ports.state(port).admin)
    return f"ifAdminStatus of {port} can be set"
