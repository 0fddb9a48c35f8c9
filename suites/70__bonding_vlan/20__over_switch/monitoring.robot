*** Settings ***
Documentation    Bonds that watch their links by ARP, or whose address moves with the link, fail over in time as well.

Resource         ../../../resources/switch.resource

Test Teardown    Remove Bonds From Both Hosts

Test Tags        needs:switch    slow


*** Test Cases ***
A Bond With ARP Monitoring Survives The Loss Of Its Link
    [Tags]    req:CARD-04/switch-monitoring
    [Setup]    Bond Ready Hosts With ARP Monitoring
    Losing The Active Link Should Cost At Most The Allowed Outage    by=switch-port

A Bond With fail_over_mac Active Survives The Loss Of Its Link
    [Tags]    req:CARD-04/switch-monitoring
    [Setup]    Bond Ready Hosts With An Address That Moves
    Losing The Active Link Should Cost At Most The Allowed Outage    by=switch-port
