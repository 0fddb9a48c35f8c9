*** Settings ***
Documentation    Disks of the peer over iSCSI, as the Dell paper of 2014 loaded them.

Resource         ../../resources/storage.resource

Test Timeout     1 h

Test Tags        allure.severity:critical


*** Test Cases ***
Blocks Over iSCSI Come Back As They Were Written
    [Tags]    req:DEL-03/base    req:DEL-04/storage
    Blocks Of Network Disks Should Come Back As They Were Written
