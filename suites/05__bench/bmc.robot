*** Settings ***
Documentation    The BMCs say and do what recovery relies on.

Resource         ../../resources/power.resource

Test Tags        needs:bmc


*** Test Cases ***
Every BMC Reports The Power As It Is
    [Tags]    req:CARD-07/bmc
    BMC Should Report Power    dut    ON
    BMC Should Report Power    peer    ON

Every BMC Reads A Temperature
    [Tags]    req:CARD-07/bmc
    Sensors Should Be Readable    dut
    Sensors Should Be Readable    peer

A Power Cycle Is In The Event Log
    [Tags]    disruptive    req:CARD-07/bmc
    Event Log Should Grow By Power Cycle    peer

The Power Is Switched By Every Protocol
    [Documentation]    Off and on by each protocol that the bench file gives the BMC; the others report it too.
    [Tags]    disruptive    slow    req:CARD-07/power-off
    Power Should Be Switched By Every Protocol    peer
