*** Settings ***
Documentation     A bond over the switch keeps carrying traffic whatever the reason for which one of its links is lost.
...
...               Only one end sees it: its bond changes the link, and the switch has to learn where it is now. The
...               other end's bond stays where it is. How long a gap may last stands on the card sheet.

Resource          ../../resources/switch.resource

Suite Setup       Bond Both Hosts As Active Backup
Suite Teardown    Remove Bonds From Both Hosts
Test Setup        Measure A Whole Bond
Test Teardown     Mend The Bonds

Test Tags         needs:switch    req:CARD-04


*** Test Cases ***
Losing The Active Link At The Switch Costs At Most The Allowed Gap
    [Tags]    allure.severity:blocker
    Lose The Active Link    by=switch-port
    Traffic Should Have Failed Over

Losing The Partner's Link At The Switch Costs At Most The Allowed Gap
    [Tags]    allure.severity:critical    slow
    Lose The Active Link    by=partner-switch-port
    Traffic Should Have Failed Over

Losing The Card's Cable To The Switch Costs At Most The Allowed Gap
    [Tags]    needs:cable    slow
    Lose The Active Link    by=cable
    Traffic Should Have Failed Over

Taking The Card's Link Down Costs At Most The Allowed Gap
    [Tags]    slow
    Lose The Active Link    by=own-link
    Traffic Should Have Failed Over

Taking The Partner's Link Down Costs At Most The Allowed Gap
    [Tags]    slow
    Lose The Active Link    by=partner-link
    Traffic Should Have Failed Over

Losing The Driver Of The Active Link Costs At Most The Allowed Gap
    [Tags]    slow
    Lose The Active Link    by=driver-unload
    Traffic Should Have Failed Over
    Restore Every Link
    Every Member Should Be Up
    Bonds Should Carry Traffic

Losing The Backup Link At The Switch Costs Nothing
    [Tags]    slow
    Lose The Backup Link    by=switch-port
    Traffic Should Be Unbroken
    Active Path Should Be Another

Losing Every Link At The Switch Is No Carrier And Traffic Returns
    [Tags]    slow
    Stop Measuring Gaps
    Lose Every Link    by=switch-port
    Bonds Should Have No Carrier    of=dut
    Restore Every Link
    Every Member Should Be Up
    Bonds Should Carry Traffic

A Link That Flaps At The Switch Is Survived
    [Tags]    slow
    Stop Measuring Gaps
    Flap The Active Link    times=10    by=switch-port
    Bonds Should Carry Traffic
