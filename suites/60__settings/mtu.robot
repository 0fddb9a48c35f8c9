*** Settings ***
Documentation    The MTU takes the range of the sheet, and comes back. Both ends of the path go down and up each time.

Resource         ../../resources/settings.resource

Test Teardown    Ready The Bench

Test Tags        req:SUS-08


*** Test Cases ***
The MTU Takes Its Range
    MTU Should Take Its Range
