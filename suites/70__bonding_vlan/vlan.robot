*** Settings ***
Documentation    Frames of a VLAN get through, those of another do not, and a VLAN on a bond survives a lost link.

Resource         ../../resources/bonding.resource

Test Setup       Ready The Bench
Test Teardown    Run Keywords    Mend The Bonds    AND    Remove Vlans And Bonds

Test Tags        req:CARD-05


*** Test Cases ***
A VLAN Carries Traffic
    [Tags]    allure.severity:critical
    Put Vlans On The First Path    dut_vlan=3    peer_vlan=3
    Vlans Should Carry Traffic
    Vlans Should Carry Packets Of Full Size
    Remove Vlans
    Every Link Should Carry Traffic

VLANs Are Isolated
    [Tags]    allure.severity:critical
    Put Vlans On The First Path    dut_vlan=3    peer_vlan=4
    Vlans Should Be Isolated

A VLAN In A VLAN Carries Traffic
    [Tags]    slow
    Put Vlans In Vlans On The First Path    outer=5    inner=3
    Vlans Should Carry Traffic
    Remove Vlans
    Every Link Should Carry Traffic

A VLAN On A Bond Survives The Loss Of A Link
    [Tags]    req:CARD-04    req:SUS-07    needs:cable
    Bond Both Hosts With A Primary Link
    Put Vlans On The Bonds    vlan=3
    Until It Can Be Told    A VLAN On A Bond Loses The Active Link
