*** Settings ***
Documentation    The recommended configuration survives a restart.

Resource         ../../resources/settings.resource


*** Test Cases ***
The Recommended Configuration Survives A Restart
    [Tags]    disruptive    slow    req:DEL-06
    Make The Recommended Configuration Persistent
    Restart The Dut
    Recommended Configuration Should Be In Force
    [Teardown]    Run Keywords    Remove The Recommended Configuration    AND    Ready The Bench
