*** Settings ***
Documentation    Reads of a file in the dut's memory over NFS version 3, as the NetApp talk of 1998 measured them.

Resource         ../../resources/storage.resource

Test Timeout     1 h

Test Tags        allure.severity:critical


*** Test Cases ***
NFS Reads Over UDP Reach The Rate On The Sheet
    [Tags]    req:NFS-02/standard
    NFS Reads Should Reach The Limit    transport=udp    mtu=1500

NFS Reads Over UDP In Jumbo Frames Reach The Rate On The Sheet
    [Tags]    req:NFS-02/jumbo
    NFS Reads Should Reach The Limit    transport=udp    mtu=9000

NFS Reads Over TCP Are As Fast As In Accepted Runs
    [Tags]    slow    touches:NFS-02
    NFS Reads Should Reach The Limit    transport=tcp    mtu=1500

NFS Reads Over TCP In Jumbo Frames Are As Fast As In Accepted Runs
    [Tags]    slow    touches:NFS-02
    NFS Reads Should Reach The Limit    transport=tcp    mtu=9000
