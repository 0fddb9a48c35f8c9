*** Settings ***
Documentation    The card is delivered as the sheet says.

Resource         ../../resources/settings.resource
Resource         ../../resources/card.resource


*** Test Cases ***
Offloads Are As Delivered
    [Tags]    req:DEL-01/offloads    req:EMX-06/defaults
    Offloads Should Be As Delivered

Rings Are As Delivered
    [Tags]    req:DEL-01/rings
    Rings Should Be As Delivered

Coalescing Is As Delivered
    [Tags]    req:DEL-01/coalescing    req:NFS-06/defaults
    Coalescing Should Be As Delivered

Pause Frames Are As Delivered
    [Tags]    req:DEL-01/pause
    Pause Should Be As Delivered

Queues Are As Delivered
    [Tags]    req:DEL-01/queues
    Queues Should Be As Delivered

The MTU Is As Delivered
    [Tags]    req:DEL-01/mtu
    MTU Should Be As Delivered

Tunables Of The Driver Are As On The Sheet
    [Tags]    req:DEL-01/tunables    req:EMX-05
    Tunables Should Be As On The Sheet
