*** Settings ***
Documentation    The consoles show what a server says when nothing else can be asked any more.

Resource         ../../resources/console.resource
Resource         ../../resources/power.resource

Test Tags        needs:console


*** Test Cases ***
Every Console Answers To A Login
    [Tags]    req:CARD-07/console
    Console Should Answer    dut
    Console Should Answer    peer

A Panic Is Captured And The Server Recovered
    [Documentation]    The kernel of the dut panics; the console shows it; the BMC's reset brings the server back.
    [Tags]    needs:bmc    disruptive    req:CARD-07/panic
    Crash    dut
    Console Should Show A Panic    dut
    Reset By BMC    dut
    Console Should Answer    dut

A Panic By An NMI Is Captured And The Server Recovered
    [Documentation]    The BMC gives the dut an NMI, at which its kernel panics; the console shows it.
    [Tags]    needs:bmc    disruptive    slow    req:CARD-07/nmi
    Set Sysctl    dut    kernel.unknown_nmi_panic    1
    Crash By NMI    dut
    Console Should Show A Panic    dut
    Reset By BMC    dut
    Console Should Answer    dut
