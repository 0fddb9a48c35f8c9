*** Settings ***
Documentation    A primary link that returns is used again, by the rule that the bond was given.

Resource         ../../resources/bonding.resource

Test Setup       No Operation
Test Teardown    Run Keywords    Mend The Bonds    AND    Remove Bonds From Both Hosts

Test Tags        req:CARD-04    needs:cable


*** Test Cases ***
A Returned Primary Link Is Used Again
    Bond Both Hosts With A Primary Link
    Until It Can Be Told    The Return Of The First Link Costs At Most The Allowed Gap

A Returned Primary Link Is Kept For Failures
    [Tags]    slow
    Bond Both Hosts With A Primary Link Kept For Failures
    Lose The Active Link
    Active Link Should Be Another
    Restore Every Link
    Every Member Should Be Up
    Active Link Should Be The Second
    Lose The Active Link
    Active Link Should Be The First
