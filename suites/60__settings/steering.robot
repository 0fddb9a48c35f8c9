*** Settings ***
Documentation    Interrupts and packets can be given to chosen CPUs, and everything is put back.

Resource         ../../resources/settings.resource

Test Teardown    Ready The Bench


*** Test Cases ***
Interrupts Can Be Given To CPUs
    [Tags]    req:SUS-08/irq-affinity
    Steering Should Be Settable    irq

Receive Packet Steering Can Be Set
    [Tags]    req:SUS-08/rps
    Steering Should Be Settable    rps

Receive Flow Steering Can Be Set
    [Tags]    req:SUS-08/rfs
    Steering Should Be Settable    rfs

Transmit Packet Steering Can Be Set
    [Tags]    req:SUS-08/xps
    Steering Should Be Settable    xps
