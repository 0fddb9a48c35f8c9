*** Settings ***
Documentation    Rings, coalescing, pause frames, queues and MTU take the range the sheet gives, and come back.

Resource         ../../resources/offload.resource

Test Teardown    Run Keywords    Ready The Bench    AND    Keep Evidence If Test Failed

Test Tags        req:SUS-08


*** Test Cases ***
Every Ring Takes Its Range
    [Tags]    req:DEL-07
    Ring Should Take Its Range    every

Every Coalescing Parameter Can Be Set
    [Tags]    req:NFS-06
    Coalescing Parameter Should Be Settable    every

Unsupported Coalescing Is Refused
    [Tags]    req:NFS-06
    Unsupported Coalescing Should Be Refused

Pause Frames Can Be Switched
    Pause Should Be Settable

Queues Can Be Set
    Channels Should Be Settable

The MTU Takes Its Range
    MTU Should Take Its Range
