*** Settings ***
Documentation    A frame that comes alone is handed over in time. Under load the next frame would hide a lost interrupt.

Resource         ../../resources/frames.resource

Test Teardown    Ready The Bench


*** Test Cases ***
Single Frames Are Handed Over In Time
    [Tags]    allure.severity:critical    req:CARD-14
    Single Frames Should Not Stall
