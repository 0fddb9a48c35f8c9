*** Settings ***
Documentation    Disks of the peer by NVMe over TCP, under the loads that the Dell paper of 2014 ran over iSCSI.

Resource         ../../resources/storage.resource

Test Timeout     1 h

Test Tags        allure.severity:critical    slow


*** Test Cases ***
Blocks By NVMe Over TCP Come Back As They Were Written
    [Tags]    touches:DEL-03
    Blocks Of NVMe Disks Should Come Back As They Were Written
