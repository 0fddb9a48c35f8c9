*** Settings ***
Documentation    Firmware can be changed and put back, and nothing but the card's own sound images is taken.
...
...              Which versions may run, which images there are and what makes a written image run is on the
...              sheet. The driver writes the images, by ethtool or devlink; where a tool of the vendor does, see
...              vendor_tool.robot.

Resource         ../../resources/firmware.resource

Test Teardown    Put Firmware Back

Test Tags        disruptive


*** Test Cases ***
The Firmware Is One The Sheet Wants
    [Tags]    allure.severity:blocker    req:CARD-02/check    req:EMX-04/version
    Firmware Should Be As On The Sheet

The Firmware Fits The Driver
    [Tags]    allure.severity:critical    req:EMX-04/with-driver
    Firmware Should Fit The Driver

An Image Of Another Card Is Refused
    [Tags]    allure.severity:critical    req:CARD-02/refusal-foreign
    Foreign Image Should Be Refused

Damaged Images Are Refused
    [Tags]    allure.severity:critical    req:CARD-02/refusal-damaged
    Damaged Images Should Be Refused

Firmware That Runs After A Driver Reload Can Be Changed And Put Back
    [Tags]    slow    req:CARD-02/update    req:CARD-02/rollback    req:EMX-04/update
    Firmware Should Be Written By    DRIVER
    Activation Should Be    DRIVER_RELOAD
    Write Other Firmware
    Reload The Driver
    Other Firmware Should Run On Every Link
    Write Firmware Back
    Reload The Driver
    Former Firmware Should Run On Every Link

Firmware That Runs After A Restart Can Be Changed And Put Back
    [Tags]    slow    req:CARD-02/update    req:CARD-02/rollback    req:EMX-04/update
    Firmware Should Be Written By    DRIVER
    Activation Should Be    RESET
    Write Other Firmware
    Restart The Dut
    Other Firmware Should Run On Every Link
    Write Firmware Back
    Restart The Dut
    Former Firmware Should Run On Every Link

Firmware That Runs After A Power Cycle Can Be Changed And Put Back
    [Tags]
    ...    slow
    ...    needs:bmc
    ...    req:CARD-02/update
    ...    req:CARD-02/rollback
    ...    req:CARD-02/power-cycle
    ...    req:EMX-04/update
    Firmware Should Be Written By    DRIVER
    Activation Should Be    POWER_CYCLE
    Write Other Firmware
    Power Cycle The Dut
    Other Firmware Should Run On Every Link
    Write Firmware Back
    Power Cycle The Dut
    Former Firmware Should Run On Every Link

A Write Of Firmware That Power Loss Cuts Off Leaves A Card That Can Be Written
    [Documentation]    May destroy a card: nothing is done unless its sheet says that it survives. The power is cut
    ...    while an image is written into each port in turn; then every port takes it, and runs it.
    [Tags]    slow    needs:bmc    req:CARD-02/power-loss
    Firmware Should Be Writable After Power Loss
    Power Cycle The Dut
    Other Firmware Should Run On Every Link
    Write Firmware Back
    Power Cycle The Dut
    Former Firmware Should Run On Every Link
