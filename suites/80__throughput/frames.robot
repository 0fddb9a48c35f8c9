*** Settings ***
Documentation    Frames a second that the card receives, rates without loss, the gain of jumbo frames, and fragments.

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

Frames Have A Rate Without Loss In Both Directions
    [Tags]    slow    allure.severity:critical    req:CARD-06/zero-loss
    Frames Should Have A Rate Without Loss

Fragmented Datagrams Arrive Whole With Checksum Offload
    [Tags]    allure.severity:critical    req:NFS-03/fragments
    Fragments Should Arrive Whole
