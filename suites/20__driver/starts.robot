*** Settings ***
Documentation    The card is the same after every start of the dut: identity, PCI Express link, settings, EEPROM, link.
...
...              One start of each kind, which other tests need as well, in quick runs; five more in full ones.

Resource         ../../resources/card.resource

Test Tags        allure.severity:critical    disruptive


*** Test Cases ***
The Card Is The Same After A Warm Restart
    [Tags]    req:CARD-17/warm
    Start The Dut Once    WARM
    Every Port Should Have Come Back With The Start    WARM

The Card Is The Same After A Power Cycle
    [Tags]    needs:bmc    req:CARD-17/cold
    Start The Dut Once    COLD
    Every Port Should Have Come Back With The Start    COLD

The Card Is The Same After Each Of Five Warm Restarts
    [Tags]    slow    req:CARD-17/warm-again
    Card Should Survive A Warm Restart
    Card Should Survive A Warm Restart
    Card Should Survive A Warm Restart
    Card Should Survive A Warm Restart
    Card Should Survive A Warm Restart

The Card Is The Same After Each Of Five Power Cycles
    [Tags]    slow    needs:bmc    req:CARD-17/cold-again
    Card Should Survive A Power Cycle
    Card Should Survive A Power Cycle
    Card Should Survive A Power Cycle
    Card Should Survive A Power Cycle
    Card Should Survive A Power Cycle
