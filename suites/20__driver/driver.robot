*** Settings ***
Documentation    The driver is the installed one, can be reloaded at any time, and is there after every boot.

Resource         ../../resources/card.resource
Resource         ../../resources/driver.resource
Resource         ../../resources/links.resource
Resource         ../../resources/power.resource
Resource         ../../resources/traffic.resource

Test Tags        req:CARD-01


*** Test Cases ***
The Driver Version Is One The Sheet Wants
    [Tags]    req:EMX-03
    Driver Version Should Be As On The Sheet

The Package Of The Driver Is One The Sheet Wants
    [Tags]    req:EMX-02    req:EMX-03
    Package Should Be As On The Sheet

The Driver In Memory Is The Installed One
    Loaded Driver Should Be The Installed One

The Card Is Usable Without An Install Step
    [Tags]    req:CHE-03
    Driver Should Be The Systems Own
    Every Link Should Be Up
    Every Link Should Carry Traffic

Reloading The Driver Brings Every Link Back
    Reload The Driver
    Every Link Should Be Up
    Every Link Should Carry Traffic

Reloading The Driver Under Traffic Brings Every Link Back
    Start Steady Traffic
    Reload The Driver
    Every Link Should Be Up
    Every Link Should Carry Traffic
    [Teardown]    Stop Steady Traffic

The Driver Is Loaded After A Power Cycle
    [Tags]    req:EMX-02    needs:bmc    disruptive
    Start The Dut Once    COLD
    Driver Should Have Been Loaded    COLD
