"""Errors as Redfish words them: messages of the DMTF's Base registry 1.8 (DSP8011), with their HTTP status."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus
from typing import Any

from bmc.redfish.https import HttpResponse

REGISTRY = "Base.1.8"


@dataclass(frozen=True)
class Text:
    """A message of the registry; ``%1``, ``%2``, ... are its arguments."""

    status: HTTPStatus
    message: str
    resolution: str
    severity: str = "Critical"


class BaseMessage(Enum):
    """The messages used; the value's text is that of the registry."""

    # fmt: off
    MalformedJSON = Text(
        HTTPStatus.BAD_REQUEST,
        "The request body submitted was malformed JSON and could not be parsed by the receiving service.",
        "Ensure that the request body is valid JSON and resubmit the request.")
    PropertyMissing = Text(
        HTTPStatus.BAD_REQUEST,
        "The property %1 is a required property and must be included in the request.",
        "Ensure that the property is in the request body and has a valid value and resubmit the request.", "Warning")
    PropertyUnknown = Text(
        HTTPStatus.BAD_REQUEST,
        "The property %1 is not in the list of valid properties for the resource.",
        "Remove the unknown property from the request body and resubmit the request.", "Warning")
    PropertyNotWritable = Text(
        HTTPStatus.BAD_REQUEST,
        "The property %1 is a read only property and cannot be assigned a value.",
        "Remove the property from the request body and resubmit the request.", "Warning")
    PropertyValueNotInList = Text(
        HTTPStatus.BAD_REQUEST,
        "The value %1 for the property %2 is not in the list of acceptable values.",
        "Choose a value from the enumeration list that the implementation can support and resubmit the request.",
        "Warning")
    PropertyValueTypeError = Text(
        HTTPStatus.BAD_REQUEST,
        "The value %1 for the property %2 is of a different type than the property can accept.",
        "Correct the value for the property in the request body and resubmit the request.", "Warning")
    ActionParameterMissing = Text(
        HTTPStatus.BAD_REQUEST,
        "The action %1 requires the parameter %2 to be present in the request body.",
        "Supply the action with the required parameter in the request body when the request is resubmitted.")
    ActionParameterUnknown = Text(
        HTTPStatus.BAD_REQUEST,
        "The action %1 was submitted with the invalid parameter %2.",
        "Correct the invalid parameter and resubmit the request.", "Warning")
    ActionParameterNotSupported = Text(
        HTTPStatus.BAD_REQUEST,
        "The parameter %1 for the action %2 is not supported on the target resource.",
        "Remove the parameter supplied and resubmit the request.", "Warning")
    NoValidSession = Text(
        HTTPStatus.UNAUTHORIZED,
        "There is no valid session established with the implementation.",
        "Establish a session before attempting any operations.")
    InsufficientPrivilege = Text(
        HTTPStatus.FORBIDDEN,
        "There are insufficient privileges for the account or credentials associated with the current session to "
        "perform the requested operation.",
        "Either abandon the operation or change the associated access rights and resubmit the request.")
    ResourceMissingAtURI = Text(
        HTTPStatus.NOT_FOUND,
        "The resource at the URI %1 was not found.",
        "Place a valid resource at the URI or correct the URI and resubmit the request.")
    OperationNotAllowed = Text(
        HTTPStatus.METHOD_NOT_ALLOWED,
        "The HTTP method is not allowed on this resource.",
        "None.")
    ResourceInStandby = Text(
        HTTPStatus.CONFLICT,
        "The request could not be performed because the resource is in standby.",
        "Ensure that the resource is in the correct power state and resubmit the request.")
    InternalError = Text(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "The request failed due to an internal service error.  The service is still operational.",
        "Resubmit the request.  If the problem persists, consider resetting the service.")
    SessionLimitExceeded = Text(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "The session establishment failed due to the number of simultaneous sessions exceeding the limit of the "
        "implementation.",
        "Reduce the number of other sessions before trying to establish the session or increase the limit of "
        "simultaneous sessions, if supported.")
    ServiceTemporarilyUnavailable = Text(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "The service is temporarily unavailable.  Retry in %1 seconds.",
        "Wait for the indicated retry duration and retry the operation.")
    # fmt: on


class RefusedError(Exception):
    """Ends a request with an error."""

    def __init__(self, message: BaseMessage, *arguments: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message.name, *arguments)
        self.message = message
        self.arguments = arguments
        self.headers = headers or {}

    def response(self) -> HttpResponse:
        """The error as an answer (DSP0266, "Error responses")."""
        text = self.message.value
        words = text.message
        for number, argument in enumerate(self.arguments, start=1):
            words = words.replace(f"%{number}", argument)
        code = f"{REGISTRY}.{self.message.name}"
        details: dict[str, Any] = {
            "@odata.type": "#Message.v1_1_1.Message",
            "MessageId": code,
            "Message": words,
            "MessageArgs": list(self.arguments),
            "Severity": text.severity,
            "Resolution": text.resolution,
        }
        error = {"error": {"code": code, "message": words, "@Message.ExtendedInfo": [details]}}
        return HttpResponse(text.status, error, self.headers)
