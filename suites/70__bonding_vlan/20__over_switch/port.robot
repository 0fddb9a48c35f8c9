*** Settings ***
Documentation    A port of the switch that is shut over SNMP takes the link of one port of the card down, and no other;
...              opened, the link returns. Both sides count the same frames.

Resource         ../../../resources/switch.resource

Test Teardown    Open All Shut Switch Ports

Test Tags        needs:switch


*** Test Cases ***
A Shut Switch Port Is Seen By The Card In Time
    [Tags]    allure.severity:critical    req:CARD-04/switch-loss
    Shut The Switch Port
    Dut Should Lose Carrier In Time
    Switch Should Report The Lost Link
    Other Ports Should Have Kept Their Carrier
    Open The Switch Port
    Dut Should Get Carrier Back In Time
    Every Link Should Carry Traffic

Every Frame Is Counted By The Card And The Switch Alike
    [Tags]    req:NFS-06/switch
    Every Frame Should Be Counted Alike

The Switch Has Not Restarted
    [Tags]    slow    req:CARD-04/switch-causes
    Switch Should Not Have Restarted
