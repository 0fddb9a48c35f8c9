*** Settings ***
Documentation    Flows are spread over the receive queues of every port, and follow its indirection table, hash key and
...              hash fields.

Resource         ../../resources/card.resource
Resource         ../../resources/frames.resource
Resource         ../../resources/links.resource

Test Teardown    Ready The Bench


*** Test Cases ***
Flows Spread Over Every Queue
    [Tags]    allure.severity:critical    req:CARD-13/spread
    Flows Should Spread Over Every Queue

Flows Follow The Indirection Table
    [Tags]    allure.severity:critical    req:CARD-13/table
    Flows Should Follow The Indirection Table

Each Queue Raises Its Own Interrupt
    [Tags]    req:CARD-13/vectors
    Each Queue Should Raise Its Own Interrupt

Each Queue Raises Its Own Interrupt When The Driver Is Loaded Again
    [Tags]    slow    req:CARD-13/vectors-reload
    Reload The Driver
    Every Link Should Be Up
    Each Queue Should Raise Its Own Interrupt

Each Queue Raises Its Own Interrupt When Their Number Changes
    [Tags]    slow    req:CARD-13/vectors-resized
    Each Queue Should Raise Its Own Interrupt When Resized

Flows Follow The Table After Changes
    [Tags]    req:CARD-13/changes
    Flows Should Follow The Table After Changes

Flows Spread Over Every Queue When The Driver Is Loaded Again
    [Tags]    slow    req:CARD-13/reload
    Reload The Driver
    Every Link Should Be Up
    Flows Should Spread Over Every Queue

Flows Come By The Queues That The Key Predicts
    [Tags]    req:CARD-13/key
    Flows Should Come By The Queues That The Key Predicts

Rules Steer Their Own Flows
    [Tags]    slow    req:CARD-13/rules
    Rules Should Steer Their Own Flows

Hash Fields Can Be Set
    [Tags]    req:CARD-13/fields
    Hash Fields Should Be Settable
