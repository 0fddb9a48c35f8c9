*** Settings ***
Documentation    TCP reaches the sheet's fraction of line rate on every path, in each direction.

Resource         ../../resources/traffic.resource

Test Tags        req:CARD-06    allure.severity:critical


*** Test Cases ***
The Dut Sends At The Rate On The Sheet
    TCP From The Dut Should Reach The Limit

The Dut Receives At The Rate On The Sheet
    TCP From The Peer Should Reach The Limit
