*** Settings ***
Documentation    The vendor's driver package can be installed, upgraded, rolled back and removed on both servers.
...
...              Which package and which versions is on the sheet; a sheet without one is not asked. Package,
...              module on disk, module in memory and every port must agree each time.

Resource         ../../resources/driver.resource

Test Teardown    Restore The Driver Packages

Test Tags        disruptive    slow


*** Test Cases ***
The Required Driver Is Installed And Runs On The Dut
    [Tags]    allure.severity:blocker    req:CARD-01/install    req:EMX-02/package
    Remove The Driver Package    dut
    Run The Packaged Driver    REQUIRED    dut

The Required Driver Is Installed And Runs On The Peer
    [Tags]    req:CARD-01/install-peer
    Remove The Driver Package    peer
    Run The Packaged Driver    REQUIRED    peer

The Former Driver Is Upgraded To The Required One
    [Tags]    req:CARD-01/upgrade
    Run The Packaged Driver    PREVIOUS    dut
    Run The Packaged Driver    REQUIRED    dut

The Required Driver Is Rolled Back To The Former One
    [Tags]    req:CARD-01/rollback
    Run The Packaged Driver    REQUIRED    dut
    Run The Packaged Driver    PREVIOUS    dut

A Removed Driver Leaves The Kernel's Own
    [Tags]    req:CARD-01/removal
    Kernel Should Bring The Driver    dut
    Run The Packaged Driver    REQUIRED    dut
    Run The Kernel's Driver    dut

A Driver Of DKMS Is Built For Every Installed Kernel
    [Documentation]    As the hook of a kernel's package does it: a server that starts the kernel has the driver.
    [Tags]    req:CARD-01/rebuild
    Install The Driver Package    REQUIRED    dut
    Driver Should Be Built For Every Kernel    dut

An Installed Driver Is Loaded After A Power Cycle
    [Tags]    needs:bmc    req:EMX-02/package-boot
    Install The Driver Package    REQUIRED    dut
    Power Cycle The Dut
    Driver Should Be Loaded
    Packaged Driver Should Run    REQUIRED    dut

The Driver Is Loaded After A Restart When It Is Set To
    [Documentation]    By an entry of the lab, in place of any that is there, where the driver's manual asks for one.
    [Tags]    req:EMX-02/at-boot
    Make The Driver Load At Boot    dut
    Start The Dut Once    WARM
    Driver Should Have Been Loaded    WARM

The Driver Is Loaded After A Power Cycle When It Is Set To
    [Documentation]    The entry is on the disk: power that goes right after it was written takes nothing away.
    [Tags]    needs:bmc    req:EMX-02/at-boot
    Make The Driver Load At Boot    dut
    Start The Dut Once    COLD
    Driver Should Have Been Loaded    COLD
