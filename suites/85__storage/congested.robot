*** Settings ***
Documentation     Disks of the peer over iSCSI, read through one port of the dut from two ports of the peer: the SAN
...               that the Dell paper of 2014 calls congested, 2:1 in place of its 4:1.

Resource          ../../resources/storage.resource
Resource          ../../resources/switch.resource

Suite Setup       Connect Hosts For A Congested SAN
Suite Teardown    Lay Every Path Back
Test Timeout      1 h

Test Tags         needs:switch    slow    touches:DEL-04


*** Test Cases ***
Disks Over iSCSI Lose Nothing But What A Congested Switch Discards
    [Tags]    allure.severity:critical    req:DEL-03/congested
    Network Disks Should Lose Nothing But What A Congested Switch Discards    vlan=${SWITCH VLAN}

Disks Over iSCSI Work On A Congested SAN With Flow Control Off And On
    [Tags]    allure.severity:normal    req:DEL-03/flow-control
    Network Disks Should Work On A Congested SAN With Flow Control Off And On    vlan=${SWITCH VLAN}
