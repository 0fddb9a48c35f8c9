*** Settings ***
Documentation     Disks of the peer over two sessions, one through each of two ports, under dm-multipath: the preferred
...               path is lost and returns while blocks are read and written.

Resource          ../../resources/storage.resource

Suite Setup       Connect Multipath Disks
Suite Teardown    Disconnect The Disks
Test Teardown     Restore The Preferred Path Of The Disks
Test Timeout      1 h

Test Tags         allure.severity:critical    slow    req:DEL-03/multipath


*** Test Cases ***
Disks Over Two Paths Survive The Loss Of A Path
    [Setup]    Both Paths Of The Disks Should Be Ready
    Multipath Disks Should Survive The Loss Of A Path    by=cable-or-link

Disks Over Two Paths Use A Path That Returns
    [Setup]    Lose The Preferred Path Of The Disks    by=cable-or-link
    Multipath Disks Should Use A Path That Returns    by=cable-or-link
