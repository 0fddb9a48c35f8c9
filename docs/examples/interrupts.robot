*** Settings ***
Documentation     A suite of your own, as an example. It works in `suites/90__own/`.

Resource          ../../resources/shell.resource

Suite Setup       Open Shells
Suite Teardown    Close Shells


*** Test Cases ***
Traffic Makes Interrupts
    ${before} =    Interrupts Of The First Port
    ${peer} =    Address Of    peer
    DutShell.Execute Command    ping -q -c 20 -i 0.05 ${peer}
    ${after} =    Interrupts Of The First Port
    Card Should Be At Least    interrupts of 20 pings at dut.p0    ${after - ${before}}    1    our own limit

A Server Can Leave Pings Without Answer
    Undo Afterwards    peer    pings are left without answer    sysctl -w net.ipv4.icmp_echo_ignore_all=0
    PeerShell.Execute Command    sysctl -w net.ipv4.icmp_echo_ignore_all=1
    ${peer} =    Address Of    peer
    ${answers} =    DutShell.Execute Command    ping -c 2 -W 1 ${peer}
    Bench Should Match    answers of the peer    ${answers}    100% packet loss

The Link Has Not Changed Since The Driver Was Loaded
    ${port} =    Interface Of    dut
    ${changes} =    DutShell.Execute Command    cat /sys/class/net/${port}/carrier_changes
    Card Should Be At Most    changes of carrier of dut.p0    ${changes}    4    our own limit


*** Keywords ***
Interrupts Of The First Port
    [Documentation]    The interrupts of all its vectors on all CPUs, since the driver was loaded.
    ${port} =    Interface Of    dut
    ${count} =    DutShell.Execute Command
    ...    awk '/${port}/ {for (i = 2; $i ~ /^[0-9]+$/; i++) n += $i} END {print n + 0}' /proc/interrupts
    RETURN    ${${count}}
