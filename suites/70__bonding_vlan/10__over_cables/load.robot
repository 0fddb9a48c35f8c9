*** Settings ***
Documentation     An active-backup bond is as fast as the sheet wants: while its links are whole, after failover over
...               the link that is left, and again after fail-back.

Resource          ../../../resources/bonding.resource
Resource          ../../../resources/traffic.resource

Suite Setup       Bond Ready Hosts    active-backup    primary_reselect=always
Suite Teardown    Remove Bonds From Both Hosts
Test Setup        Every Member Should Be Up
Test Teardown     Restore Every Link

Test Tags        slow


*** Test Cases ***
An active-backup Bond Has Its Full Rate
    [Tags]    req:CARD-04/load    req:SUS-06
    TCP Over The Bonds From The Dut Should Reach The Limit
    TCP Over The Bonds From The Peer Should Reach The Limit

Traffic Over Cables Has Its Full Rate After Failover
    [Tags]    req:CARD-04/load
    Lose The Active Link    by=cable-or-link
    Active Link Should Be Another
    Lost Links Should Have Their Cause
    TCP Over The Bonds From The Dut Should Reach The Limit
    TCP Over The Bonds From The Peer Should Reach The Limit

Traffic Over Cables Has Its Full Rate After Fail-Back
    [Tags]    req:CARD-04/load
    Lose The Active Link    by=cable-or-link
    Active Link Should Be Another
    Restore Every Link
    Every Member Should Be Up
    Active Link Should Be The First
    TCP Over The Bonds From The Dut Should Reach The Limit
    TCP Over The Bonds From The Peer Should Reach The Limit

A Connection Under Load Over Cables Survives The Loss And Return Of Its Link
    [Tags]    req:CARD-04/load
    [Setup]    Start Steady Traffic
    Lose The Active Link    by=cable-or-link
    Active Link Should Be Another
    Steady Traffic Should Flow On
    Restore Every Link
    Active Link Should Be The First
    Steady Traffic Should Flow On
    [Teardown]    Run Keywords    Stop Steady Traffic    AND    Restore Every Link
