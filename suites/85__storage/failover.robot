*** Settings ***
Documentation     Disks of the peer over iSCSI and an active-backup bond, one of whose links fails and returns while
...               blocks are read and written.

Resource          ../../resources/storage.resource

Suite Setup       Bond Hosts For Network Disks
Suite Teardown    Remove Bonds From Both Hosts
Test Setup        Every Member Should Be Up
Test Teardown     Restore Every Link
Test Timeout      1 h


*** Test Cases ***
Disks Over iSCSI Survive The Loss And Return Of A Link
    [Tags]    allure.severity:critical    slow    req:DEL-03/failover
    Network Disks Should Survive The Loss And Return Of A Link    by=cable-or-link
