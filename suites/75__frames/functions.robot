*** Settings ***
Documentation    Virtual functions (SR-IOV): a port makes cards of itself, each with frames of its own, and rules them.

Resource         ../../resources/frames.resource

Test Teardown    Ready The Bench


*** Test Cases ***
Every Port Makes All Of Its Virtual Functions
    [Tags]    allure.severity:critical    req:CARD-19/made
    Every Port Should Make All Of Its Functions

Virtual Functions Carry Their Own Frames
    [Tags]    allure.severity:critical    req:CARD-19/frames
    Functions Should Carry Their Own Frames

Virtual Functions Refuse Spoofed Addresses
    [Tags]    req:CARD-19/spoofed
    Functions Should Refuse Spoofed Addresses

Virtual Functions Keep Their VLAN
    [Tags]    touches:CARD-05    req:CARD-19/vlan
    Functions Should Keep Their VLAN

Virtual Functions Send In No Other VLAN
    [Tags]    touches:CARD-05    req:CARD-19/vlan-sent
    Functions Should Send In Their VLAN Only

Virtual Functions Leave Other Ports
    [Tags]    req:CARD-19/others
    Functions Should Leave Other Ports

Virtual Functions Survive Their Port
    [Tags]    req:CARD-19/port
    Functions Should Survive Their Port

Virtual Functions Go While They Send
    [Tags]    slow    req:CARD-19/removed
    Functions Should Go While They Send

Virtual Functions Are Made Again When The Driver Is Loaded Again
    [Tags]    slow    req:CARD-19/reload
    Functions Should Be Made Again After A Reload
