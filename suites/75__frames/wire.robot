*** Settings ***
Documentation    What leaves the card is captured at the other end of the cable, and what its stack gets at this end.
...              No counter of the driver is asked.

Resource         ../../resources/frames.resource

Test Teardown    Ready The Bench


*** Test Cases ***
Segments Of TCP Over IPv4 Are Right On The Wire
    [Tags]    allure.severity:critical    req:CARD-06/segments
    Offload Should Work As Switched    tso4

Segments Of TCP Over IPv6 Are Right On The Wire
    [Tags]    req:CARD-06/segments
    Offload Should Work As Switched    tso6

Checksums Are Right On The Wire
    [Tags]    allure.severity:critical    req:CARD-06/sent-checksums
    Offload Should Work As Switched    tx-checksum

Tags Are Right On The Wire
    [Tags]    touches:CARD-05    req:CARD-06/tags
    Offload Should Work As Switched    vlan-insert

Received Tags Are Those That Were Sent
    [Tags]    touches:CARD-05    req:CARD-06/tags
    Offload Should Work As Switched    vlan-strip

Received Checksums Are Judged Only When Asked For
    [Tags]    req:CARD-06/received-checksums
    Offload Should Work As Switched    rx-checksum

GRO Merges Packets Only While It Is On
    [Tags]    req:CARD-06/merging
    Offload Should Work As Switched    gro

LRO Merges Packets Only While It Is On
    [Tags]    req:CARD-06/merging
    Offload Should Work As Switched    lro

Each Connection Has Its Own Receive Hash
    [Tags]    req:CARD-06/hashes
    Offload Should Work As Switched    rx-hash

Frames Of Every Kind Arrive
    [Tags]    allure.severity:critical    req:CARD-09/kinds
    Frames Of Every Kind Should Arrive

Padding Carries No Foreign Bytes
    [Tags]    req:CARD-09/padding
    Padding Should Be Zeros
