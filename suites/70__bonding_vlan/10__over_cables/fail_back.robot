*** Settings ***
Documentation    A primary link that returns is used again by the bond's primary_reselect rule.

Resource         ../../../resources/bonding.resource

Test Teardown    Remove Bonds From Both Hosts


*** Test Cases ***
With primary_reselect Always A Returned Primary Link Is Used Again
    [Tags]    req:CARD-04/fail-back
    [Setup]    Bond Ready Hosts    active-backup    primary_reselect=always
    Return Of The Primary Link Should Cost At Most The Allowed Outage    by=cable-or-link

With primary_reselect Failure A Returned Primary Link Waits For A Failure
    [Tags]    slow    req:CARD-04/fail-back-policy
    [Setup]    Bond Ready Hosts    active-backup    primary_reselect=failure
    A Returned Primary Link Should Wait For A Failure    by=cable-or-link
