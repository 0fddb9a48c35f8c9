*** Settings ***
Documentation    Pause frames (IEEE 802.3x) stop a port that is to heed them, and no other, and come from a full one.

Resource         ../../resources/frames.resource

Test Teardown    Ready The Bench


*** Test Cases ***
A Paused Port Stops Sending
    [Tags]    req:CARD-16/received
    Paused Port Should Stop Sending

A Full Port Asks For Silence
    [Tags]    req:CARD-16/sent    slow
    Full Port Should Ask For Silence
