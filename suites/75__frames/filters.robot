*** Settings ***
Documentation    A port receives what is addressed to it and nothing else. Frames that must not arrive are sent among
...              frames that must.

Resource         ../../resources/frames.resource

Test Teardown    Ready The Bench

Test Tags        req:CARD-10


*** Test Cases ***
Ports Receive Their Own Address Only
    [Tags]    allure.severity:critical
    Ports Should Receive Their Own Address Only

Ports Receive Everything Only While Promiscuous
    Ports Should Receive Everything Only While Promiscuous

Ports Receive The Groups That They Joined
    [Tags]    allure.severity:critical
    Ports Should Receive The Groups That They Joined

Ports Receive Every Group When Asked To
    Ports Should Receive Every Group When Asked To

Ports Receive Further Addresses
    Ports Should Receive Further Addresses

Ports Receive At A Changed Address
    Ports Should Receive At A Changed Address

The VLAN Filter Passes The Own VLANs Only
    [Tags]    touches:CARD-05
    VLAN Filter Should Pass The Own VLANs Only
