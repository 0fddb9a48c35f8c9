*** Settings ***
Documentation    Line rate with one connection and with many, in each mode of the card, and the CPU it costs to receive.
...
...              A mode that the card's driver does not offer on this system is not applicable. Where the card is to do
...              TCP, its own count of connections, and of buffers that were taken, proves that it does.

Resource         ../../resources/sweeps.resource

Test Timeout     2 h

Test Tags        slow


*** Test Cases ***
Any Number Of Connections Is Received At Line Rate
    [Tags]    allure.severity:critical    req:CHE-01/nic
    Connections Should Reach The Limit    nic

Any Number Of Connections Is Received At Line Rate With TCP Offload
    [Tags]    req:CHE-01/toe
    Connections Should Reach The Limit    toe

Any Number Of Connections Is Received At Line Rate With Direct Data Placement
    [Tags]    req:CHE-01/ddp
    Connections Should Reach The Limit    toe-ddp

Direct Data Placement Saves The Receiver's CPU
    [Tags]    req:CHE-02
    Direct Placement Should Save CPU
