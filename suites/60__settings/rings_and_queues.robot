*** Settings ***
Documentation    Rings and queues take the range of the sheet, and come back.

Resource         ../../resources/settings.resource

Test Teardown    Ready The Bench


*** Test Cases ***
Every Ring Takes Its Range
    [Tags]    per:ring    req:SUS-08/rings
    Ring Should Take Its Range    every

The Largest Rings Fit In Memory
    [Tags]    req:DEL-07
    Largest Rings Should Fit In Memory

Queues Can Be Set
    [Tags]    req:SUS-08/queues
    Queues Should Be Settable
