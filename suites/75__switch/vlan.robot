*** Settings ***
Documentation    VLANs of the switch: frames of one get through, those of another do not.
...
...              The tag is set by the switch, whose ports are in a VLAN, or by the card, on a trunk.

Resource         ../../resources/switch.resource

Test Setup       Ready The Bench
Test Teardown    Run Keywords    Mend The Bonds    AND    Remove Vlans And Bonds    AND    Restore Switch VLANs

Test Tags        needs:switch    req:CARD-05


*** Test Cases ***
Ends In Different VLANs Of The Switch Are Isolated
    [Tags]    allure.severity:critical
    Put First Path In Switch Vlans    dut_vlan=101    peer_vlan=102
    First Path Should Be Isolated
    Put First Path In Switch Vlans    dut_vlan=101    peer_vlan=101
    First Path Should Carry Traffic

A Trunk Carries The VLAN It Is Given
    [Tags]    slow
    Make Every Switch Port A Trunk    vlan=103
    Put Vlans On The First Path    dut_vlan=103    peer_vlan=103
    Vlans Should Carry Traffic
    Vlans Should Carry Packets Of Full Size

A Trunk Keeps Other VLANs Out
    [Tags]    slow
    Make Every Switch Port A Trunk    vlan=103
    Put Vlans On The First Path    dut_vlan=104    peer_vlan=104
    Vlans Should Be Isolated

A VLAN On A Bond Survives The Loss Of A Link At The Switch
    [Tags]    req:CARD-04    req:SUS-07    slow
    Make Every Switch Port A Trunk    vlan=103
    Bond Both Hosts As Active Backup
    Put Vlans On The Bonds    vlan=103
    Until It Can Be Told    A VLAN On A Bond Loses The Active Link    by=switch-port
