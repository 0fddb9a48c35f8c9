*** Settings ***
Documentation     A bond over the switch keeps carrying traffic whatever the reason for which one of its links is lost.
...
...               Only one end sees it: its bond changes the link, and the switch has to learn where it is now. The
...               other end's bond stays where it is. How long a gap may last stands on the card sheet.

Resource          ../../resources/switch.resource

Suite Setup       Bond Both Hosts As Active Backup
Suite Teardown    Remove Bonds From Both Hosts
Test Setup        No Operation
Test Teardown     Mend The Bonds

Test Tags         needs:switch    req:CARD-04


*** Test Cases ***
Losing The Active Link At The Switch Costs At Most The Allowed Gap
    [Tags]    allure.severity:blocker
    Until It Can Be Told    The Loss Of The Active Link Costs At Most The Allowed Gap    by=switch-port

Losing The Partner's Link At The Switch Costs At Most The Allowed Gap
    [Tags]    allure.severity:critical    slow
    Until It Can Be Told    The Loss Of The Active Link Costs At Most The Allowed Gap    by=partner-switch-port

Losing The Card's Cable To The Switch Costs At Most The Allowed Gap
    [Tags]    needs:cable    slow
    Until It Can Be Told    The Loss Of The Active Link Costs At Most The Allowed Gap    by=cable

Taking The Card's Link Down Costs At Most The Allowed Gap
    [Tags]    slow
    Until It Can Be Told    The Loss Of The Active Link Costs At Most The Allowed Gap    by=own-link

Taking The Partner's Link Down Costs At Most The Allowed Gap
    [Tags]    slow
    Until It Can Be Told    The Loss Of The Active Link Costs At Most The Allowed Gap    by=partner-link

Losing The Driver Of The Active Link Costs At Most The Allowed Gap
    [Tags]    slow
    Until It Can Be Told    The Loss Of The Active Link Costs At Most The Allowed Gap    by=driver-unload
    Restore Every Link
    Every Member Should Be Up
    Bonds Should Carry Traffic

Losing The Backup Link At The Switch Costs Nothing
    [Tags]    slow
    Until It Can Be Told    The Loss Of The Backup Link Costs Nothing    by=switch-port

Losing Every Link At The Switch Is No Carrier And Traffic Returns
    [Tags]    slow
    Ready The Bonds
    Lose Every Link    by=switch-port
    Bonds Should Have No Carrier    of=dut
    Restore Every Link
    Every Member Should Be Up
    Bonds Should Carry Traffic

A Link That Flaps At The Switch Is Survived
    [Tags]    slow
    Ready The Bonds
    Flap The Active Link    times=10    by=switch-port
    Bonds Should Carry Traffic
