*** Settings ***
Documentation    The driver is the installed one, can be reloaded at any time, and is there after every boot.

Resource         ../../resources/card.resource
Resource         ../../resources/driver.resource
Resource         ../../resources/links.resource
Resource         ../../resources/power.resource
Resource         ../../resources/traffic.resource


*** Test Cases ***
The Driver Version Is One The Sheet Wants
    [Tags]    req:CARD-01/version    req:EMX-03/driver-version
    Driver Version Should Be As On The Sheet

The Package Of The Driver Is One The Sheet Wants
    [Tags]    req:EMX-03/package
    Package Should Be As On The Sheet

The Driver In Memory Is The Installed One
    [Tags]    req:CARD-01/in-memory
    Loaded Driver Should Be The Installed One

The Card Is Usable Without An Install Step
    [Tags]    req:CHE-03
    Driver Should Be The Systems Own
    Every Link Should Be Up
    Every Link Should Carry Traffic

Reloading The Driver Brings Every Link Back
    [Tags]    req:CARD-01/reload
    Reload The Driver
    Every Link Should Be Up
    Every Link Should Carry Traffic

Reloading The Driver Under Traffic Brings Every Link Back
    [Tags]    req:CARD-01/reload-under-load
    Start Steady Traffic
    Reload The Driver
    Every Link Should Be Up
    Every Link Should Carry Traffic
    [Teardown]    Stop Steady Traffic

The Driver Gives Its Memory Back
    [Documentation]    It is loaded again 11 times, and 20 times more where memory is lost.
    [Tags]    slow    req:CARD-01/memory
    Reloaded Driver Should Give Its Memory Back
    Ready The Bench
    Every Link Should Be Up

The Driver Is Loaded After A Power Cycle
    [Tags]    needs:bmc    disruptive    req:EMX-02/boot
    Start The Dut Once    COLD
    Driver Should Have Been Loaded    COLD
