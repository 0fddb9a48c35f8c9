*** Settings ***
Documentation    The recommended configuration survives a restart, and its rings fit in memory.

Resource         ../../resources/offload.resource


*** Test Cases ***
The Recommended Configuration Survives A Restart
    [Tags]    req:DEL-06    disruptive    slow
    Make The Recommended Configuration Stay
    Restart The Dut
    Recommended Configuration Should Be In Force
    [Teardown]    Run Keywords    Take The Recommended Configuration Away    AND    Ready The Bench
    ...    AND    Keep Evidence If Test Failed

The Largest Rings Fit In Memory
    [Tags]    req:DEL-07
    Largest Rings Should Fit In Memory
