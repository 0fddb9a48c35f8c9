*** Settings ***
Documentation    TCP reaches the sheet's fraction of line rate on every path, and in a VLAN that of untagged.

Resource         ../../resources/traffic.resource

Test Tags        allure.severity:critical


*** Test Cases ***
The Dut Sends At The Rate On The Sheet
    [Tags]    req:CARD-06/limits    req:DEL-04/tcp
    TCP From The Dut Should Reach The Limit

The Dut Receives At The Rate On The Sheet
    [Tags]    req:CARD-06/limits    req:DEL-04/tcp
    TCP From The Peer Should Reach The Limit

A VLAN Carries The Fraction On The Sheet
    [Tags]    req:CARD-05/rate    req:CARD-06/vlan-limit
    TCP In A VLAN Should Reach The Fraction On The Sheet
