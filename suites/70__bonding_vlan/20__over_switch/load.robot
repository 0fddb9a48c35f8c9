*** Settings ***
Documentation     A connection that fills the link goes on when the link fails at the switch, and when it returns; the
...               link that is left is as fast as any.

Resource          ../../../resources/switch.resource
Resource          ../../../resources/traffic.resource

Suite Setup       Bond Ready Hosts    active-backup    primary_reselect=always
Suite Teardown    Remove Bonds From Both Hosts
Test Setup        Start Steady Traffic
Test Teardown     Run Keywords    Stop Steady Traffic    AND    Restore Every Link

Test Tags        needs:switch    slow


*** Test Cases ***
A Connection Under Load Survives The Loss And Return Of Its Link
    [Tags]    req:CARD-04/switch-load
    Lose The Active Link    by=switch-port
    Active Link Should Be Another
    Steady Traffic Should Flow On
    Restore Every Link
    Active Link Should Be The First
    Steady Traffic Should Flow On

Traffic Has Its Full Rate After The Loss Of Its Link
    [Tags]    req:CARD-04/switch-load
    [Setup]    Every Member Should Be Up
    Lose The Active Link    by=switch-port
    Active Link Should Be Another
    TCP Over The Bonds From The Dut Should Reach The Limit
    TCP Over The Bonds From The Peer Should Reach The Limit
