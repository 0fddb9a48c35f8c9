*** Settings ***
Documentation    Pause frames are switched, and come back.

Resource         ../../resources/settings.resource

Test Teardown    Ready The Bench

Test Tags        req:SUS-08


*** Test Cases ***
Pause Frames Can Be Switched
    Pause Should Be Settable
