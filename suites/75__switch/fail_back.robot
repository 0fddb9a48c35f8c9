*** Settings ***
Documentation    A primary link that the switch gives back is used again, by the rule that the bond was given.

Resource         ../../resources/switch.resource

Test Setup       No Operation
Test Teardown    Run Keywords    Mend The Bonds    AND    Remove Bonds From Both Hosts

Test Tags        needs:switch    req:CARD-04    slow


*** Test Cases ***
A Primary Link That The Switch Gives Back Is Used Again
    Bond Both Hosts With A Primary Link
    Until It Can Be Told    The Return Of The First Link Costs At Most The Allowed Gap    by=switch-port

A Primary Link That The Switch Gives Back Is Kept For Failures
    Bond Both Hosts With A Primary Link Kept For Failures
    Lose The Active Link    by=switch-port
    Active Link Should Be Another
    Restore Every Link
    Every Member Should Be Up
    Active Link Should Be The Second    of=dut
