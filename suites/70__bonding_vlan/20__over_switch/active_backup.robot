*** Settings ***
Documentation     An active-backup bond over the switch keeps carrying traffic whatever the cause for which one of its
...               links fails. The other end's bond stays where it is.

Resource          ../../../resources/switch.resource

Suite Setup       Bond Ready Hosts    active-backup
Suite Teardown    Remove Bonds From Both Hosts
Test Setup        Every Member Should Be Up
Test Teardown     Restore Every Link

Test Tags        needs:switch


*** Test Cases ***
Losing The Active Link At The Switch Costs At Most The Allowed Outage
    [Tags]    allure.severity:blocker    req:CARD-04/switch-loss
    Losing The Active Link Should Cost At Most The Allowed Outage    by=switch-port

Losing The Partner's Link At The Switch Costs At Most The Allowed Outage
    [Tags]    allure.severity:critical    slow    req:CARD-04/switch-causes
    Losing The Active Link Should Cost At Most The Allowed Outage    by=partner-switch-port

Losing The Card's Cable To The Switch Costs At Most The Allowed Outage
    [Tags]    needs:cable    slow    req:CARD-04/switch-causes
    Losing The Active Link Should Cost At Most The Allowed Outage    by=cable

Taking The Card's Link Down Costs At Most The Allowed Outage
    [Tags]    slow    req:CARD-04/switch-causes
    Losing The Active Link Should Cost At Most The Allowed Outage    by=own-link

Taking The Partner's Link Down Costs At Most The Allowed Outage
    [Tags]    slow    req:CARD-04/switch-causes
    Losing The Active Link Should Cost At Most The Allowed Outage    by=partner-link

Losing The Driver Of The Active Link Costs At Most The Allowed Outage
    [Tags]    slow    req:CARD-04/switch-causes
    Losing The Active Link Should Cost At Most The Allowed Outage    by=driver-unload
    Ready The Bonds

Losing The Backup Link At The Switch Costs Nothing
    [Tags]    slow    req:CARD-04/switch-causes
    Losing The Backup Link Should Cost Nothing    by=switch-port
    Active Link Should Be Unchanged

Losing Every Link At The Switch Is No Carrier And Traffic Returns
    [Tags]    slow    req:CARD-04/switch-causes
    Losing Every Link Should Be No Carrier Until It Returns    by=switch-port    of=dut

A Link That Flaps At The Switch Is Survived
    [Tags]    slow    req:CARD-04/switch-causes
    A Flapping Link Should Be Survived    by=switch-port
