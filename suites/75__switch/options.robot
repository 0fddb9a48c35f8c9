*** Settings ***
Documentation    Other ways to watch the links of a bond, and to tell partners where it is, fail over in time as well.

Resource         ../../resources/switch.resource

Test Teardown    Run Keywords    Mend The Bonds    AND    Remove Bonds From Both Hosts

Test Tags        needs:switch    req:CARD-04    slow


*** Test Cases ***
A Bond That Watches By ARP Survives The Loss Of Its Link
    [Setup]    Bond Both Hosts And Watch By ARP
    Until It Can Be Told    The Loss Of The Active Link Costs At Most The Allowed Gap    by=switch-port

A Bond Whose Address Moves With Its Link Survives The Loss Of Its Link
    [Setup]    Bond Both Hosts With Addresses That Move
    Until It Can Be Told    The Loss Of The Active Link Costs At Most The Allowed Gap    by=switch-port
