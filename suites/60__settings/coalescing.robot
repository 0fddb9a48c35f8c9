*** Settings ***
Documentation    Interrupt coalescing takes the values of the sheet, refuses what it does not list, and comes back.

Resource         ../../resources/settings.resource

Test Teardown    Ready The Bench


*** Test Cases ***
Every Coalescing Parameter Can Be Set
    [Tags]    per:coalescing    req:SUS-08/coalescing
    Coalescing Parameter Should Be Settable    every

Unsupported Coalescing Is Refused
    [Tags]    req:SUS-08/coalescing
    Unsupported Coalescing Should Be Refused
