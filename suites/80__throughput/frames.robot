*** Settings ***
Documentation    Frames a second that the card receives, the gain of jumbo frames, and fragments that stay whole.

Resource         ../../resources/sweeps.resource

Test Timeout     2 h


*** Test Cases ***
The Frame Rate Is That On The Sheet At Every Size
    [Tags]    slow    req:NFS-01/rate
    Frame Rate Should Reach The Limit

The Frame Rate Is The Same At Every Size
    [Tags]    slow    req:NFS-01/every-size
    Frame Rate Should Be The Same At Every Size

Jumbo Frames Gain What The Frame Rate Predicts
    [Tags]    slow    req:NFS-01/jumbo-gain
    Jumbo Frames Should Gain As Predicted

Fragmented Datagrams Arrive Whole With Checksum Offload
    [Tags]    allure.severity:critical    req:NFS-03/fragments
    Fragments Should Arrive Whole
