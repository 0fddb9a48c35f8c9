*** Settings ***
Documentation    VLANs of the switch: frames of one get through, those of another do not.
...
...              The tag is set by the switch, whose ports are in a VLAN, or by the card, on a trunk.

Resource         ../../../resources/switch.resource

Test Teardown    Run Keywords    Remove VLANs And Bonds    AND    Restore Switch VLANs

Test Tags        needs:switch


*** Test Cases ***
Ends In Different VLANs Of The Switch Are Isolated
    [Tags]    allure.severity:critical    req:CARD-05/access
    Put First Path In Switch VLANs    dut_vlan=${SWITCH VLAN}    peer_vlan=${OTHER SWITCH VLAN}
    First Path Should Be Isolated
    Put First Path In Switch VLANs    dut_vlan=${SWITCH VLAN}    peer_vlan=${SWITCH VLAN}
    First Path Should Carry Traffic

A Trunk Carries The VLAN It Is Given
    [Tags]    slow    req:CARD-05/trunk
    Make Every Switch Port A Trunk    vlan=${SWITCH VLAN}
    Put VLANs On The First Path    dut_vlan=${SWITCH VLAN}    peer_vlan=${SWITCH VLAN}
    VLANs Should Carry Traffic
    VLANs Should Carry Packets Of Full Size

A Trunk Keeps Other VLANs Out
    [Tags]    slow    req:CARD-05/trunk
    Make Every Switch Port A Trunk    vlan=${SWITCH VLAN}
    Put VLANs On The First Path    dut_vlan=${OTHER SWITCH VLAN}    peer_vlan=${OTHER SWITCH VLAN}
    VLANs Should Be Isolated

A VLAN On A Bond Survives The Loss Of A Link At The Switch
    [Tags]    touches:SUS-07    slow    req:CARD-04/switch-vlan
    [Setup]    Bond Ready Hosts    active-backup
    Make Every Switch Port A Trunk    vlan=${SWITCH VLAN}
    Put VLANs On The Bonds    vlan=${SWITCH VLAN}
    Losing The Active Link Should Cost At Most The Allowed Outage    by=switch-port    over=vlan-on-bond
