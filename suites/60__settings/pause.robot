*** Settings ***
Documentation    Pause frames are switched, and come back.

Resource         ../../resources/settings.resource

Test Teardown    Ready The Bench


*** Test Cases ***
Pause Frames Can Be Switched
    [Tags]    req:SUS-08/pause
    Pause Should Be Settable
