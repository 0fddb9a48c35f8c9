*** Settings ***
Documentation    Links aggregated by LACP (802.3ad) without a switch: the two bonds are each other's partner.

Resource         ../../../resources/aggregation.resource

Test Setup       Aggregate Ready Hosts    lacp_rate=fast
Test Teardown    Remove Bonds From Both Hosts

Test Tags        slow


*** Test Cases ***
Losing A Link Of An 802.3ad Bond Over Cables Costs At Most The Allowed Outage
    [Tags]    req:CARD-04/modes
    Losing Each Link Should Cost At Most The Allowed Outage    by=cable-or-link

A Returned Link Of An 802.3ad Bond Over Cables Is Aggregated Again
    [Tags]    req:CARD-04/modes
    Lose The First Link    by=cable-or-link
    Bonds Should Carry Traffic
    Lost Links Should Have Their Cause
    Ready The Aggregation
