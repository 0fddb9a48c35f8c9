*** Settings ***
Documentation    The card is delivered as the sheet says.

Resource         ../../resources/settings.resource
Resource         ../../resources/card.resource

Test Tags        req:DEL-01


*** Test Cases ***
Offloads Are As Delivered
    [Tags]    req:EMX-06
    Offloads Should Be As Delivered

Rings Are As Delivered
    Rings Should Be As Delivered

Coalescing Is As Delivered
    [Tags]    req:NFS-06
    Coalescing Should Be As Delivered

Pause Frames Are As Delivered
    Pause Should Be As Delivered

Queues Are As Delivered
    Queues Should Be As Delivered

The MTU Is As Delivered
    MTU Should Be As Delivered

Tunables Of The Driver Are As On The Sheet
    [Tags]    req:EMX-05
    Tunables Should Be As On The Sheet
