*** Settings ***
Documentation    The MTU takes the range of the sheet, and comes back. Both ends of the path go down and up each time.

Resource         ../../resources/settings.resource

Test Teardown    Ready The Bench


*** Test Cases ***
The MTU Takes Its Range
    [Tags]    req:SUS-08/mtu
    MTU Should Take Its Range
