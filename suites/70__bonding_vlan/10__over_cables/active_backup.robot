*** Settings ***
Documentation     An active-backup bond keeps carrying traffic when one of its links fails. The card sheet says how long
...               the outage may last.

Resource          ../../../resources/bonding.resource

Suite Setup       Bond Ready Hosts    active-backup    primary_reselect=always
Suite Teardown    Remove Bonds From Both Hosts
Test Setup        Every Member Should Be Up
Test Teardown     Restore Every Link


*** Test Cases ***
Losing The Active Link Costs At Most The Allowed Outage
    [Tags]    allure.severity:blocker    touches:SUS-06    req:CARD-04/loss    req:NFS-05
    Losing The Active Link Should Cost At Most The Allowed Outage    by=cable-or-link

Losing The Backup Link Costs Nothing
    [Tags]    req:CARD-04/loss
    Losing The Backup Link Should Cost Nothing    by=cable-or-link
    Active Link Should Be Unchanged

Losing Every Link Is No Carrier And Traffic Returns
    [Tags]    allure.severity:critical    req:CARD-04/loss
    Losing Every Link Should Be No Carrier Until It Returns    by=cable-or-link

A Link That Flaps Is Survived
    [Tags]    slow    req:CARD-04/flap
    A Flapping Link Should Be Survived    by=cable-or-link

Taking The Card's Link Down Over Cables Costs At Most The Allowed Outage
    [Tags]    slow    req:CARD-04/causes
    Losing The Active Link Should Cost At Most The Allowed Outage    by=own-link

Taking The Partner's Link Down Over Cables Costs At Most The Allowed Outage
    [Tags]    slow    req:CARD-04/causes
    Losing The Active Link Should Cost At Most The Allowed Outage    by=partner-link

Losing The Driver Of The Active Link Over Cables Costs At Most The Allowed Outage
    [Tags]    slow    req:CARD-04/causes
    Losing The Active Link Should Cost At Most The Allowed Outage    by=driver-unload
    Ready The Bonds
