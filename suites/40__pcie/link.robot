*** Settings ***
Documentation    The card's PCI Express link is as wide and as fast as the sheet says, whatever happened before.
...
...              Some slots are wired narrower than they look, and some links train narrower under load or after a cold
...              start: the negotiated state decides, read along the whole path.

Resource         ../../resources/card.resource
Resource         ../../resources/power.resource
Resource         ../../resources/traffic.resource


*** Test Cases ***
The Link Is As On The Sheet When Idle
    [Tags]    allure.severity:blocker    req:CARD-03/idle    req:EMX-01
    PCIe Link Should Be As On The Sheet

The Link Is As On The Sheet Under Load
    [Tags]    req:CARD-03/loaded    req:EMX-01
    Start Steady Traffic
    PCIe Link Should Be As On The Sheet
    [Teardown]    Stop Steady Traffic

The Link Is As On The Sheet After A Warm Restart
    [Tags]    disruptive    req:CARD-03/warm
    Start The Dut Once    WARM
    PCIe Link Should Have Come Up As On The Sheet    WARM

The Link Is As On The Sheet After A Power Cycle
    [Tags]    needs:bmc    disruptive    req:CARD-03/cold
    Start The Dut Once    COLD
    PCIe Link Should Have Come Up As On The Sheet    COLD
