*** Settings ***
Documentation    Frames of a VLAN get through, those of another do not, and a VLAN on a bond survives a lost link.

Resource         ../../../resources/bonding.resource

Test Teardown    Remove VLANs And Bonds


*** Test Cases ***
A VLAN Carries Traffic
    [Tags]    allure.severity:critical    req:CARD-05/tagging
    Put VLANs On The First Path    dut_vlan=${VLAN}    peer_vlan=${VLAN}
    VLANs Should Carry Traffic
    VLANs Should Carry Packets Of Full Size
    Remove VLANs
    Every Link Should Carry Traffic

VLANs Are Isolated
    [Tags]    allure.severity:critical    req:CARD-05/isolation
    Put VLANs On The First Path    dut_vlan=${VLAN}    peer_vlan=${OTHER VLAN}
    VLANs Should Be Isolated

A VLAN In A VLAN Carries Traffic
    [Tags]    slow    req:CARD-05/vlan-in-vlan
    Put VLANs In VLANs On The First Path    outer=${OUTER VLAN}    inner=${VLAN}
    VLANs Should Carry Traffic
    Remove VLANs
    Every Link Should Carry Traffic

A VLAN On A Bond Survives The Loss Of A Link
    [Tags]    touches:SUS-07    req:CARD-04/vlan    req:CARD-05/over-bond
    [Setup]    Bond Ready Hosts    active-backup    primary_reselect=always
    Put VLANs On The Bonds    vlan=${VLAN}
    Losing The Active Link Should Cost At Most The Allowed Outage    by=cable-or-link    over=vlan-on-bond

A VLAN On A Bond Survives The Loss Of The Partner's Link
    [Tags]    slow    req:CARD-04/vlan-causes
    [Setup]    Bond Ready Hosts    active-backup    primary_reselect=always
    Put VLANs On The Bonds    vlan=${VLAN}
    Losing The Active Link Should Cost At Most The Allowed Outage    by=partner-link    over=vlan-on-bond

A VLAN On A Bond Survives The Loss Of The Driver
    [Tags]    slow    req:CARD-04/vlan-causes
    [Setup]    Bond Ready Hosts    active-backup    primary_reselect=always
    Put VLANs On The Bonds    vlan=${VLAN}
    Losing The Active Link Should Cost At Most The Allowed Outage    by=driver-unload    over=vlan-on-bond
    Ready The Bonds
