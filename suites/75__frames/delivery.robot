*** Settings ***
Documentation    Each frame has a number and a hash. What is sent is counted by both ports and arrives once, in order
...              and unchanged.

Resource         ../../resources/frames.resource

Test Teardown    Ready The Bench


*** Test Cases ***
Every Frame Arrives Once In Order And Unchanged
    [Tags]    allure.severity:blocker    req:CARD-09/delivery
    Every Frame Should Arrive Once In Order And Unchanged

Frames Of Every Size Arrive
    [Tags]    allure.severity:critical    req:CARD-09/delivery
    Frames Of Every Size Should Arrive

Frames Of The Largest Sizes Arrive
    [Tags]    slow    req:CARD-09/largest-sizes
    Frames Of The Largest Sizes Should Arrive

Data Arrive Unchanged With Every Offload On
    [Tags]    allure.severity:critical    req:CARD-09/offloads
    Data Should Arrive Unchanged    offload=every    on=True

Data Arrive Unchanged With Every Offload Off
    [Tags]    req:CARD-09/offloads
    Data Should Arrive Unchanged    offload=every    on=False

Every Offload Leaves Data Unchanged When It Is Off
    [Tags]    per:offload    slow    req:CARD-09/each-offload
    Data Should Arrive Unchanged    every    on=False

Data In Pieces Of Memory Arrive Unchanged
    [Tags]    req:NFS-06/scatter-gather
    Data In Pieces Should Arrive Unchanged

Wrong Checksums Are Refused And Counted
    [Tags]    allure.severity:critical    req:CARD-09/checksums
    Wrong Checksums Should Be Refused And Counted
