*** Settings ***
Documentation    Links aggregated by LACP (802.3ad): the switch is the one partner, and any link may fail.
...
...              Which link a connection takes is for both sides to choose, so each of them is lost once.

Resource         ../../../resources/switch.resource

Test Setup       Aggregate Ready Hosts    lacp_rate=fast
Test Teardown    Remove Bonds From Both Hosts

Test Tags        needs:switch    slow


*** Test Cases ***
Losing A Link Of An 802.3ad Bond Costs At Most The Allowed Outage
    [Tags]    req:CARD-04/switch-modes
    Losing Each Link Should Cost At Most The Allowed Outage    by=switch-port

A Returned Link Of An 802.3ad Bond Is Aggregated Again
    [Tags]    req:CARD-04/switch-modes
    Lose The First Link    by=switch-port
    Ready The Aggregation

The Switch Is Asked For LACPDUs At The LACP Rate Of The Bond
    [Tags]    req:CARD-04/switch-modes
    [Setup]    Aggregate Ready Hosts    lacp_rate=slow
    Switch Should Be Asked For LACPDUs    rate=slow
    Remove Bonds From Both Hosts
    Aggregate Ready Hosts    lacp_rate=fast
    Switch Should Be Asked For LACPDUs    rate=fast

An 802.3ad Bond With Fewer Links Than min_links Has No Carrier
    [Tags]    req:CARD-04/switch-modes
    [Setup]    Aggregate Ready Hosts    lacp_rate=fast    min_links=2
    Lose The First Link    by=switch-port
    Bond With Too Few Links Should Have No Carrier    role=dut
    Ready The Aggregation
