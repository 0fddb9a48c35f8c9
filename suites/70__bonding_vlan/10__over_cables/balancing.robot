*** Settings ***
Documentation    A bond that sends over all its links at once uses each of them, and survives the loss of any.

Resource         ../../../resources/bonding.resource

Test Teardown    Remove Bonds From Both Hosts

Test Tags        slow


*** Test Cases ***
A balance-rr Bond Uses Every Link And One That Returns
    [Tags]    req:CARD-04/modes
    [Setup]    Bond Ready Hosts    balance-rr
    Every Member Should Carry Its Share Also After A Return    by=cable-or-link

Losing A Link Of A balance-rr Bond Costs At Most The Allowed Outage
    [Tags]    req:CARD-04/modes
    [Setup]    Bond Ready Hosts    balance-rr
    Losing Each Link Should Cost At Most The Allowed Outage    by=cable-or-link

A balance-xor Bond Uses Every Link And One That Returns
    [Tags]    req:CARD-04/modes
    [Setup]    Bond Ready Hosts    balance-xor    xmit_hash_policy=layer34
    Every Member Should Carry Its Share Also After A Return    by=cable-or-link

Losing A Link Of A balance-xor Bond Costs At Most The Allowed Outage
    [Tags]    req:CARD-04/modes
    [Setup]    Bond Ready Hosts    balance-xor    xmit_hash_policy=layer34
    Losing Each Link Should Cost At Most The Allowed Outage    by=cable-or-link

A broadcast Bond Sends Every Frame Over Every Link And One That Returns
    [Tags]    req:CARD-04/modes
    [Setup]    Bond Ready Hosts    broadcast
    Every Member Should Carry Its Share Also After A Return    by=cable-or-link

Losing A Link Of A broadcast Bond Costs Nothing
    [Tags]    req:CARD-04/modes
    [Setup]    Bond Ready Hosts    broadcast
    Losing Each Link Should Cost Nothing    by=cable-or-link
