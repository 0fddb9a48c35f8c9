"""Redfish: a BMC by HTTPS and JSON (DMTF DSP0266)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.transports.bmc import redfish_records
from niclab.transports.bmc.bmc import Bmc, CommandRefused, PowerAction, PowerState, SelEntry, Sensor
from niclab.transports.bmc.redfish_https import Https, RedfishEndpoint
from niclab.transports.bmc.redfish_records import Json

__all__ = ["Redfish", "RedfishEndpoint"]

A = TypeVar("A")
T = TypeVar("T")

CALL_WITHIN_S = 60.0
"""Deadline of a call about the power; the first one reads three resources before its own."""
LIST_WITHIN_S = 120.0
"""Deadline of reading all of the sensors or the log."""
MOST_MEMBERS = 10_000
"""Members of a collection; logs have up to some thousand."""

_ROOT = "/redfish/v1/"


class Redfish(Bmc):
    """A BMC by Redfish. The connection is kept; the paths of the service are looked up once."""

    def __init__(self, endpoint: RedfishEndpoint) -> None:
        self.endpoint = endpoint
        self._https = Https(endpoint)
        self._system_path: str | None = None
        self._log_path: str | None = None

    @property
    def name(self) -> str:
        return self.endpoint.name

    def power_status(self) -> PowerState:
        with self._https.call(CALL_WITHIN_S):
            return self._read(redfish_records.power_state, self._system())

    def control(self, action: PowerAction) -> None:
        with self._https.call(CALL_WITHIN_S):
            reset = self._action(self._system(), "#ComputerSystem.Reset")
            allowed = self._reset_types(reset)
            name = self._read(lambda values: redfish_records.reset_type(action, values), allowed)
            if name is None:
                offered = ", ".join(map(str, allowed or ())) or "nothing"
                raise CommandRefused(f"{self.name}: {action.value} is not offered; offered: {offered}")
            self._https.post(reset["target"], {"ResetType": name})

    def sensors(self) -> list[Sensor]:
        """See :class:`Bmc`. From Thermal and Power of each chassis; where a chassis has neither, from its Sensors."""
        with self._https.call(LIST_WITHIN_S):
            return [sensor for chassis in self._chassis() for sensor in self._sensors_of(chassis)]

    def sel(self) -> list[SelEntry]:
        with self._https.call(LIST_WITHIN_S):
            entries = self._members(self._link(self._log(), "Entries"))
        return [self._read(redfish_records.sel_entry, entry) for entry in entries]

    def close(self) -> None:
        self._https.close()

    def _reset_types(self, reset: Json) -> list[object] | None:
        """Values of ResetType, from the action or its ActionInfo; None when it does not say."""
        if "@Redfish.ActionInfo" not in reset or "ResetType@Redfish.AllowableValues" in reset:
            return reset.get("ResetType@Redfish.AllowableValues")
        link = reset["@Redfish.ActionInfo"]
        path = link if isinstance(link, str) else self._link({"ActionInfo": link}, "ActionInfo")
        return self._read(redfish_records.offered_reset_types, self._https.get(path))

    def _sensors_of(self, chassis: Json) -> Iterator[Sensor]:
        resources = [self._https.get(self._link(chassis, key)) for key in ("Thermal", "Power") if key in chassis]
        for resource in resources:
            yield from self._read(lambda thing: list(redfish_records.sensors_of_arrays(thing)), resource)
        if not resources and "Sensors" in chassis:
            for index, member in enumerate(self._members(self._link(chassis, "Sensors"))):
                yield self._read(partial(redfish_records.sensor_of_member, index=index), member)

    def _system(self) -> Json:
        if self._system_path is None:
            paths = self._paths(self._link(self._https.get(_ROOT), "Systems"))
            wanted = self.endpoint.system
            chosen = [path for path in paths if wanted is None or wanted in (path, path.rstrip("/").rpartition("/")[2])]
            if len(chosen) != 1:
                asked = "exactly one, or `system` to choose" if wanted is None else f"system {wanted!r}"
                raise BenchFault(f"{self.name}: the service has systems {', '.join(paths) or 'none'}; expected {asked}")
            self._system_path = chosen[0]
        return self._https.get(self._system_path)

    def _chassis(self) -> list[Json]:
        links = self._links(self._system(), "Chassis")
        if not links:
            raise BenchFault(f"{self.name}: system {self._system_path} has no Links.Chassis; expected at least one")
        return [self._https.get(self._link({"Chassis": link}, "Chassis")) for link in links]

    def _log(self) -> Json:
        """The log service of the event log; services keep it with the system or with its manager."""
        if self._log_path is not None:
            return self._https.get(self._log_path)
        system = self._system()
        managers = self._links(system, "ManagedBy")
        owners = [system, *(self._https.get(self._link({"Manager": link}, "Manager")) for link in managers)]
        services = [
            (path, self._https.get(path))
            for owner in owners
            if "LogServices" in owner
            for path in self._paths(self._link(owner, "LogServices"))
        ]
        for path, service in services:
            if redfish_records.is_event_log(service):
                self._log_path = path
                return service
        names = ", ".join(path for path, _ in services) or "none"
        raise NotApplicable(f"{self.name} has no event log: no log service is a SEL; log services: {names}")

    def _pages(self, path: str) -> Iterator[Json]:
        first, seen, members = path, set[str](), 0
        while path:
            if path in seen:
                raise BenchFault(f"{self.name}: pages of collection {path} run in a circle")
            seen.add(path)
            page = self._https.get(path)
            if not isinstance(page.get("Members"), list):
                raise BenchFault(f"{self.name}: {path} has no list of Members")
            members += len(page["Members"])
            if members > MOST_MEMBERS:
                raise BenchFault(f"{self.name}: collection {first} has more than {MOST_MEMBERS} members")
            yield page
            path = str(page.get("Members@odata.nextLink") or "")

    def _paths(self, path: str) -> list[str]:
        """Paths of the members of a collection."""
        return [self._link({"Member": link}, "Member") for page in self._pages(path) for link in page["Members"]]

    def _members(self, path: str) -> list[Json]:
        """Members of a collection; those that it only names are fetched."""
        items = [item for page in self._pages(path) for item in page["Members"]]
        return [
            item if isinstance(item, dict) and "Id" in item else self._https.get(self._link({"Member": item}, "Member"))
            for item in items
        ]

    def _link(self, resource: Json, key: str) -> str:
        link = resource.get(key)
        path = link.get("@odata.id") if isinstance(link, dict) else None
        if not isinstance(path, str) or not path:
            raise BenchFault(
                f"{self.name}: {key} of {resource.get('@odata.id', 'a resource')} is {link!r}; expected a link"
            )
        return path

    def _links(self, resource: Json, key: str) -> list[object]:
        links = self._object(resource, "Links").get(key) or []
        if not isinstance(links, list):
            raise BenchFault(f"{self.name}: Links.{key} of {self._system_path} is {links!r:.80}; expected a list")
        return links

    def _object(self, resource: Json, key: str) -> Json:
        found = resource.get(key) or {}
        if not isinstance(found, dict):
            raise BenchFault(f"{self.name}: {key} of {self._system_path} is {found!r:.80}; expected an object")
        return found

    def _action(self, resource: Json, name: str) -> Json:
        action = self._object(resource, "Actions").get(name)
        if not isinstance(action, dict) or not isinstance(action.get("target"), str):
            raise CommandRefused(f"{self.name}: {resource.get('@odata.id')} offers no action {name}")
        return action

    def _read(self, reader: Callable[[A], T], content: A) -> T:
        try:
            return reader(content)
        except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError) as error:
            raise BenchFault(f"{self.name}: the answer cannot be read: {error}") from error
