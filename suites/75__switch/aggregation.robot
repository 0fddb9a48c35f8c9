*** Settings ***
Documentation    Links aggregated by LACP (802.3ad): the switch is the one partner, and any link may be lost.
...
...              Which link a connection takes is for both sides to choose, so each of them is lost once.

Resource         ../../resources/switch.resource

Test Setup       Aggregate Both Hosts
Test Teardown    Run Keywords    Mend The Bonds    AND    Remove Bonds From Both Hosts

Test Tags        needs:switch    req:CARD-04    slow


*** Test Cases ***
Losing The First Member Costs At Most The Allowed Gap
    Until It Can Be Told    The Loss Of The First Member Costs At Most The Allowed Gap

Losing The Second Member Costs At Most The Allowed Gap
    Until It Can Be Told    The Loss Of The Second Member Costs At Most The Allowed Gap

A Returned Member Is Aggregated Again
    Lose The First Link    by=switch-port
    Restore Every Link
    Every Member Should Be Up
    Every Member Should Be Aggregated
    Bonds Should Carry Traffic

The Switch Is Asked For LACPDUs At The Rate Of The Bond
    [Setup]    Aggregate At The Slow Rate
    Switch Should Be Asked For LACPDUs    rate=slow
    Remove Bonds From Both Hosts
    Aggregate Both Hosts
    Switch Should Be Asked For LACPDUs    rate=fast

A Bond With Fewer Links Than It Needs Has No Carrier
    [Setup]    Aggregate With Two Links At Least
    Lose The First Link    by=switch-port
    Bond With Too Few Links Should Have No Carrier    role=dut
    Restore Every Link
    Every Member Should Be Up
    Every Member Should Be Aggregated
    Bonds Should Carry Traffic
