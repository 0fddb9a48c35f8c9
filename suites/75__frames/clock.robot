*** Settings ***
Documentation    The hardware clock of each port runs, can be set, and stamps frames with the time of their passage.

Resource         ../../resources/frames.resource


*** Test Cases ***
Every Hardware Clock Runs Forward At Its Rate
    [Tags]    req:CARD-20/runs
    Every Clock Should Run

Hardware Clocks Take Times
    [Tags]    req:CARD-20/time
    Every Clock Should Take Times

Hardware Clocks Take Rates
    [Tags]    req:CARD-20/rate
    Every Clock Should Take Rates

Received Frames Have Time Stamps Of Their Own
    [Tags]    req:CARD-20/received
    Received Frames Should Be Stamped

Sent Frames Have Time Stamps Of Their Own
    [Tags]    req:CARD-20/sent
    Sent Frames Should Be Stamped
