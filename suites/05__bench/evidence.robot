*** Settings ***
Documentation    The evidence of both servers after a failure is complete: console, kernel log, links, PCI, interrupts,
...              load, protocols, sysctls, driver module, and for each port driver, rings, coalescing, offloads,
...              counters and frames.

Resource         ../../resources/bench.resource


*** Test Cases ***
Every Tool That Gives Evidence Of A Failure Answers
    [Tags]    req:SUS-09
    Evidence Should Be Complete
