"""Results out of netperf's classic tables."""

from __future__ import annotations

import math

from niclab.hosts.errors import unreadable
from niclab.traffic import WorthlessResult
from niclab.traffic.netperf_command import KIND
from niclab.traffic.netperf_records import TRANSACTIONS, NetperfResult, bits_per_unit
from niclab.traffic.netperf_tables import REQUEST, STREAM, UDP, Heading, Row, check_columns, is_second

_NOT_MEASURED = -1.0


def worthless(why: str) -> WorthlessResult:
    """A result that can be read and proves nothing."""
    return WorthlessResult(f"{KIND}: worthless result: {why}")


def percent(value: float, what: str) -> float | None:
    """A CPU load; None for -1.00, which stands for "not measured".

    :raises WorthlessResult: outside 0 to 100 %: netperf's CPU accounting is broken on that host.
    """
    if value == _NOT_MEASURED:
        return None
    if not 0 <= value <= 100:
        raise worthless(f"{what} of {value:g} %")
    return value


def demand(value: float) -> float | None:
    """A service demand; None when it was not measured (-1) or could not be computed."""
    if value < 0 and value != _NOT_MEASURED and math.isfinite(value):
        raise unreadable(KIND, "service demand", value, "a number that is not negative, or -1")
    return value if math.isfinite(value) and value >= 0 else None


def rate(value: float, unit: str, what: str) -> float:
    """``value`` of ``unit`` in bit/s or transactions/s.

    :raises WorthlessResult: for zero and what is no number.
    """
    if not math.isfinite(value) or value <= 0:
        raise worthless(f"{what} of {value:g} {unit}/s")
    return round(value * (bits_per_unit(unit) or 1.0), 3)


def read_rows(test: str | None, head: Heading | None, shape: str, unit: str, rows: list[Row]) -> NetperfResult:
    """The result of the rows below a heading, or of rows alone (``head`` None).

    :raises ReadError: for rows that are none of this shape, or too many of them.
    """
    first = rows[0]
    cpu = check_columns(shape, first, cpu=head.cpu if head else None)
    second = rows[1] if len(rows) > 1 and is_second(shape, first, rows[1]) else None
    surplus = rows[2:] if second else rows[1:]
    if surplus:
        raise unreadable(KIND, f"line {surplus[0].number}", surplus[0].line, "one result only")
    per = (head.per if head else None) or ("us/Tr" if unit == TRANSACTIONS else "us/KB")
    read = {STREAM: _stream, UDP: _udp, REQUEST: _request}[shape]
    return read(test, unit, first, second, per if cpu else None)


def _stream(test: str | None, unit: str, first: Row, _second: Row | None, per: str | None) -> NetperfResult:
    figures = _figures(first, 4, unit)
    cpu = _cpu(first, 5, per)
    return NetperfResult(
        test=test,
        throughput_bps=None if unit == TRANSACTIONS else figures[1],
        transactions_per_s=figures[1] if unit == TRANSACTIONS else None,
        elapsed_s=figures[0],
        unit=unit,
        cpu_local_pct=cpu[0],
        cpu_remote_pct=cpu[1],
        service_demand_local_us=cpu[2],
        service_demand_remote_us=cpu[3],
        service_demand_per=per,
        recv_socket_bytes=first.whole(0, "the receiver's socket size"),
        send_socket_bytes=first.whole(1, "the sender's socket size"),
        message_bytes=first.size(2, "the message size"),
    )


def _request(test: str | None, unit: str, first: Row, second: Row | None, per: str | None) -> NetperfResult:
    figures = _figures(first, 5, unit)
    cpu = _cpu(first, 6, per)
    if second is not None and len(second.words) != 2:
        raise unreadable(KIND, f"line {second.number}", second.line, "two socket sizes of the remote host")
    return NetperfResult(
        test=test,
        throughput_bps=None if unit == TRANSACTIONS else figures[1],
        transactions_per_s=figures[1] if unit == TRANSACTIONS else None,
        elapsed_s=figures[0],
        unit=unit,
        cpu_local_pct=cpu[0],
        cpu_remote_pct=cpu[1],
        service_demand_local_us=cpu[2],
        service_demand_remote_us=cpu[3],
        service_demand_per=per,
        send_socket_bytes=first.whole(0, "the local send socket size"),
        recv_socket_bytes=first.whole(1, "the local receive socket size"),
        request_bytes=first.size(2, "the request size"),
        response_bytes=first.size(3, "the response size"),
        remote_send_socket_bytes=second.whole(0, "the remote send socket size") if second else None,
        remote_recv_socket_bytes=second.whole(1, "the remote receive socket size") if second else None,
    )


def _udp(test: str | None, unit: str, first: Row, second: Row | None, per: str | None) -> NetperfResult:
    if second is None:
        raise worthless("the sender's line of UDP only; what was received is wanted")
    if len(second.words) - 4 != len(first.words) - 6:
        raise unreadable(KIND, f"line {second.number}", second.line, f"{len(first.words) - 2} columns")
    digits = None if per else 2  # with CPU columns behind it one digit or two, by version
    sent, failed = first.size(3, "messages sent"), first.size(4, "messages failed")
    received = second.size(2, "messages received")
    elapsed_s, received_s = first.decimal(2, 2, "the elapsed time"), second.decimal(1, 2, "the elapsed time")
    if not sent or not received:
        raise worthless(f"{sent} messages sent, {received} received")
    if received > sent:
        raise worthless(f"{received} messages received, more than the {sent} sent")
    return NetperfResult(
        test=test,
        throughput_bps=rate(second.decimal(3, digits, "the throughput"), unit, "a receiver's throughput"),
        transactions_per_s=None,
        elapsed_s=min(elapsed_s, received_s),
        unit=unit,
        cpu_local_pct=percent(first.decimal(6, 2, "CPU"), "a local CPU load") if per else None,
        cpu_remote_pct=percent(second.decimal(4, 2, "CPU"), "a remote CPU load") if per else None,
        service_demand_local_us=demand(first.decimal(7, 3, "the service demand")) if per else None,
        service_demand_remote_us=demand(second.decimal(5, 3, "the service demand")) if per else None,
        service_demand_per=per,
        loss=(sent - received) / sent,
        send_throughput_bps=rate(first.decimal(5, digits, "the throughput"), unit, "a sender's throughput"),
        messages_sent=sent,
        messages_failed=failed,
        messages_received=received,
        send_socket_bytes=first.whole(0, "the sender's socket size"),
        recv_socket_bytes=second.whole(0, "the receiver's socket size"),
        message_bytes=first.size(1, "the message size"),
    )


def _figures(first: Row, place: int, unit: str) -> tuple[float, float]:
    elapsed_s = first.decimal(place - 1, 2, "the elapsed time")
    what = "a transaction rate" if unit == TRANSACTIONS else "a throughput"
    return elapsed_s, rate(first.decimal(place, 2, what), unit, what)


def _cpu(first: Row, place: int, per: str | None) -> tuple[float | None, float | None, float | None, float | None]:
    """Local and remote load, local and remote service demand."""
    if per is None:
        return None, None, None, None
    return (
        percent(first.decimal(place, 2, "local CPU"), "a local CPU load"),
        percent(first.decimal(place + 1, 2, "remote CPU"), "a remote CPU load"),
        demand(first.decimal(place + 2, 3, "the local service demand")),
        demand(first.decimal(place + 3, 3, "the remote service demand")),
    )
