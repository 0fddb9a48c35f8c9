*** Settings ***
Documentation    Settings of the dut under disks over iSCSI: each factor alone, as the Dell paper of 2014 changed them,
...              and checksum offload, which it asks to keep on.

Resource         ../../resources/storage.resource

Test Timeout     4 h

Test Tags        allure.severity:critical    slow


*** Test Cases ***
Checksum Offload Stays On Under iSCSI
    [Tags]    req:DEL-08
    Checksum Offload Should Stay On Under Network Disks

Each Factor Alone Changes Loads Over iSCSI As The Sheet Predicts
    [Tags]    req:DEL-02/storage
    Each Factor Alone Should Change Network Disks As Predicted
