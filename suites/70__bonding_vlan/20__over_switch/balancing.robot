*** Settings ***
Documentation    Bonds that balance by themselves need nothing of the switch but that it learns where addresses are.

Resource         ../../../resources/switch.resource

Test Teardown    Remove Bonds From Both Hosts

Test Tags        needs:switch    slow


*** Test Cases ***
Losing A Link Of A balance-tlb Bond Costs At Most The Allowed Outage
    [Tags]    req:CARD-04/switch-modes
    [Setup]    Bond Ready Hosts    balance-tlb
    Losing Each Link Should Cost At Most The Allowed Outage    by=switch-port

Losing A Link Of A balance-alb Bond Costs At Most The Allowed Outage
    [Tags]    req:CARD-04/switch-modes
    [Setup]    Bond Ready Hosts    balance-alb
    Losing Each Link Should Cost At Most The Allowed Outage    by=switch-port
