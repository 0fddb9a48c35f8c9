*** Settings ***
Documentation    A primary link that the switch gives back is used again by the bond's primary_reselect rule.

Resource         ../../../resources/switch.resource

Test Teardown    Remove Bonds From Both Hosts

Test Tags        needs:switch    slow


*** Test Cases ***
With primary_reselect Always A Primary Link That Returns At The Switch Is Used Again
    [Tags]    req:CARD-04/switch-fail-back
    [Setup]    Bond Ready Hosts    active-backup    primary_reselect=always
    Return Of The Primary Link Should Cost At Most The Allowed Outage    by=switch-port

With primary_reselect Failure A Primary Link That Returns At The Switch Waits For A Failure
    [Tags]    req:CARD-04/switch-fail-back
    [Setup]    Bond Ready Hosts    active-backup    primary_reselect=failure
    A Returned Primary Link Should Wait For A Failure    by=switch-port    of=dut
