*** Settings ***
Documentation     A file of the dut over NFS and an active-backup bond, one of whose links fails and returns while it
...               is read.

Resource          ../../resources/storage.resource

Suite Setup       Bond Hosts For NFS Reads
Suite Teardown    Remove Bonds From Both Hosts
Test Setup        Every Member Should Be Up
Test Teardown     Restore Every Link
Test Timeout      1 h


*** Test Cases ***
Reads Over NFS Survive The Loss And Return Of A Link
    [Tags]    allure.severity:critical    slow    req:NFS-02/failover
    NFS Reads Should Survive The Loss And Return Of A Link    by=cable-or-link
