*** Settings ***
Documentation    Bonds that balance by themselves need nothing of the switch but that it learns where addresses are.

Resource         ../../resources/switch.resource

Test Teardown    Run Keywords    Mend The Bonds    AND    Remove Bonds From Both Hosts

Test Tags        needs:switch    req:CARD-04    slow


*** Test Cases ***
Losing Any Link Of Bonds That Balance What They Send Costs At Most The Allowed Gap
    [Setup]    Bond Both Hosts To Balance What They Send
    Losing Each Link Should Cost At Most The Allowed Gap    by=switch-port

Losing Any Link Of Bonds That Balance Both Ways Costs At Most The Allowed Gap
    [Setup]    Bond Both Hosts To Balance Both Ways
    Losing Each Link Should Cost At Most The Allowed Gap    by=switch-port    mode=balance-alb
