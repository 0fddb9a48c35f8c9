*** Settings ***
Documentation    A bond that sends over all its links at once uses each of them, and survives the loss of any.

Resource         ../../resources/bonding.resource

Test Teardown    Run Keywords    Mend The Bonds    AND    Remove Bonds From Both Hosts

Test Tags        req:CARD-04    needs:cable    slow


*** Test Cases ***
Round Robin Uses Every Link Also One That Has Returned
    [Setup]    Bond Both Hosts Round Robin
    Every Member Should Carry Its Share
    Lose The First Link
    Bonds Should Carry Traffic
    Restore Every Link
    Every Member Should Be Up
    Every Member Should Carry Its Share

Losing Any Link Of Round Robin Costs At Most The Allowed Gap
    [Setup]    Bond Both Hosts Round Robin
    Losing Each Link Should Cost At Most The Allowed Gap

A Hash Uses Every Link Also One That Has Returned
    [Setup]    Bond Both Hosts By A Hash
    Every Member Should Carry Its Share
    Lose The First Link
    Bonds Should Carry Traffic
    Restore Every Link
    Every Member Should Be Up
    Every Member Should Carry Its Share

Losing Any Link Of A Hash Costs At Most The Allowed Gap
    [Setup]    Bond Both Hosts By A Hash
    Losing Each Link Should Cost At Most The Allowed Gap
