*** Settings ***
Documentation    Line rate with one connection and with many, in each mode of the card, and the CPU it costs to receive.
...
...              A mode that the card's driver does not offer on this system is not applicable.

Resource         ../../resources/sweeps.resource

Test Timeout     2 h

Test Tags        req:CHE-01    req:CHE-02    slow


*** Test Cases ***
Any Number Of Connections Is Received At Line Rate
    [Tags]    allure.severity:critical
    Any Number Of Connections Should Reach The Limit    nic

Any Number Of Connections Is Received At Line Rate With TCP Offload
    Any Number Of Connections Should Reach The Limit    toe

Any Number Of Connections Is Received At Line Rate With Direct Data Placement
    Any Number Of Connections Should Reach The Limit    toe-ddp
