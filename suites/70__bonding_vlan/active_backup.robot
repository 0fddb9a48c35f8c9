*** Settings ***
Documentation     A bond keeps carrying traffic when one of its links is lost.
...
...               A link is lost the way it is lost in the field: its cable is pulled, and the card only sees the light
...               disappear. How long a gap may last stands on the card sheet.

Resource          ../../resources/bonding.resource

Suite Setup       Bond Both Hosts With A Primary Link
Suite Teardown    Remove Bonds From Both Hosts
Test Setup        No Operation
Test Teardown     Mend The Bonds

Test Tags         req:CARD-04    needs:cable


*** Test Cases ***
Losing The Active Link Costs At Most The Allowed Gap
    [Tags]    allure.severity:blocker    req:SUS-06    req:NFS-05
    Until It Can Be Told    The Loss Of The Active Link Costs At Most The Allowed Gap

Losing The Backup Link Costs Nothing
    Until It Can Be Told    The Loss Of The Backup Link Costs Nothing

Losing Every Link Is No Carrier And Traffic Returns
    [Tags]    allure.severity:critical
    Ready The Bonds
    Lose Every Link
    Bonds Should Have No Carrier
    Restore Every Link
    Every Member Should Be Up
    Bonds Should Carry Traffic

A Link That Flaps Is Survived
    [Tags]    slow
    Ready The Bonds
    Flap The Active Link    times=10
    Bonds Should Carry Traffic
