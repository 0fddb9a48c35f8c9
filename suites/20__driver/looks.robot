*** Settings ***
Documentation    A look into the card shows what is there, and leaves every port as it is.

Resource         ../../resources/card.resource


*** Test Cases ***
The EEPROM Is Read Right
    [Tags]    req:CARD-18/eeprom
    Every EEPROM Should Be Read Right

A Dump Of The Registers Leaves Every Link
    [Tags]    req:CARD-18/registers
    Every Link Should Stay    REGISTERS

A Light That Blinks Leaves Every Link
    [Tags]    req:CARD-18/identify
    Every Link Should Stay    IDENTIFY
