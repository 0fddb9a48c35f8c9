*** Settings ***
Documentation    TCP reaches the sheet's fraction of line rate on every path, and in a VLAN that of untagged.

Resource         ../../resources/traffic.resource

Test Tags        req:CARD-06    allure.severity:critical


*** Test Cases ***
The Dut Sends At The Rate On The Sheet
    TCP From The Dut Should Reach The Limit

The Dut Receives At The Rate On The Sheet
    TCP From The Peer Should Reach The Limit

A VLAN Carries The Fraction On The Sheet
    [Tags]    req:CARD-05
    TCP In A VLAN Should Reach Its Limit
