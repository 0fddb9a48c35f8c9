*** Settings ***
Documentation    Disks of the peer over iSCSI by an engine of the card in place of the server's own initiator.

Resource         ../../resources/storage.resource

Test Timeout     1 h

Test Tags        allure.severity:critical    slow


*** Test Cases ***
Disks Over iSCSI By The Card's Engine Match Those By Software
    [Tags]    req:DEL-05
    Network Disks By The Engine Should Match Those By Software
