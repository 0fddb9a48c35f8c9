*** Settings ***
Documentation    How many frames a second the card receives, what jumbo frames gain, and fragments that stay whole.

Resource         ../../resources/sweeps.resource

Test Timeout     2 h


*** Test Cases ***
The Frame Rate Is That On The Sheet At Every Size
    [Tags]    req:NFS-01    slow
    Frame Rate Should Reach The Limit

The Frame Rate Is The Same At Every Size
    [Tags]    req:NFS-01    slow
    Frame Rate Should Be The Same At Every Size

Jumbo Frames Gain What The Frame Rate Predicts
    [Tags]    req:NFS-01    slow
    Jumbo Frames Should Gain What The Frame Rate Predicts

Fragmented Datagrams Arrive Whole With Checksum Offload
    [Tags]    req:NFS-03    allure.severity:critical
    Fragments Should Arrive Whole
