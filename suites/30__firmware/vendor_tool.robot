*** Settings ***
Documentation    The vendor's tool writes firmware into the card, and puts the former one back.
...
...              The sheet names its command and what it needs. A tool that says of a card that it refuses is heard;
...              one that fails for another reason, or does not support the operating system, decides nothing about
...              the card.

Resource         ../../resources/firmware.resource

Test Teardown    Put Firmware Back

Test Tags
...              disruptive
...              req:CARD-02/rollback
...              req:CARD-02/update
...              req:EMX-04/offline-tool
...              req:EMX-04/update
...              slow


*** Test Cases ***
The Vendor's Tool Installs Firmware That Runs After A Driver Reload
    Firmware Should Be Written By    TOOL
    Activation Should Be    DRIVER_RELOAD
    Write Other Firmware
    Reload The Driver
    Other Firmware Should Run On Every Link
    Write Firmware Back
    Reload The Driver
    Former Firmware Should Run On Every Link

The Vendor's Tool Installs Firmware That Runs After A Restart
    Firmware Should Be Written By    TOOL
    Activation Should Be    RESET
    Write Other Firmware
    Restart The Dut
    Other Firmware Should Run On Every Link
    Write Firmware Back
    Restart The Dut
    Former Firmware Should Run On Every Link

The Vendor's Tool Installs Firmware That Runs After A Power Cycle
    [Tags]    needs:bmc    req:CARD-02/power-cycle
    Firmware Should Be Written By    TOOL
    Activation Should Be    POWER_CYCLE
    Write Other Firmware
    Power Cycle The Dut
    Other Firmware Should Run On Every Link
    Write Firmware Back
    Power Cycle The Dut
    Former Firmware Should Run On Every Link
