*** Settings ***
Documentation    A port receives what is addressed to it and nothing else. Frames that must not arrive are sent among
...              frames that must.

Resource         ../../resources/frames.resource

Test Teardown    Ready The Bench


*** Test Cases ***
Ports Receive Their Own Address Only
    [Tags]    allure.severity:critical    req:CARD-10/address
    Ports Should Receive Their Own Address Only

Ports Receive Everything Only While Promiscuous
    [Tags]    req:CARD-10/promiscuous
    Ports Should Receive Everything Only While Promiscuous

Ports Receive The Groups That They Joined
    [Tags]    allure.severity:critical    req:CARD-10/groups
    Ports Should Receive The Groups That They Joined

Ports Receive Every Group When Asked To
    [Tags]    req:CARD-10/all-groups
    Ports Should Receive Every Group When Asked To

Ports Receive Further Addresses
    [Tags]    req:CARD-10/further-addresses
    Ports Should Receive Further Addresses

Ports Receive At A Changed Address
    [Tags]    req:CARD-10/changed-address
    Ports Should Receive At A Changed Address

The VLAN Filter Passes The Own VLANs Only
    [Tags]    touches:CARD-05    req:CARD-10/vlan
    VLAN Filter Should Pass The Own VLANs Only

The VLAN Filter Works In Every Word And Bit
    [Tags]    slow    touches:CARD-05    req:CARD-10/vlan-table
    VLAN Filter Should Work In Every Word And Bit
