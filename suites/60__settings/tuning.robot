*** Settings ***
Documentation    Settings that a test chooses are in force while it runs, and links carry traffic with them. They are
...              put back by themselves when the test has ended.

Resource         ../../resources/settings.resource

Test Teardown    Ready The Bench


*** Test Cases ***
Large Rings That A Test Sets Are In Force And Keep The Link
    [Tags]    req:SUS-08/rings
    Set Ring    dut    rx    largest
    Every Link Should Be Up
    Every Link Should Carry Traffic

Coalescing That A Test Sets Is In Force
    [Tags]    req:SUS-08/coalescing
    Set Coalescing    dut    rx-usecs    50
    Every Link Should Carry Traffic

Socket Memory That A Test Sets Is In Force
    [Tags]    req:SUS-08/sysctl
    Set Sysctl    dut    net.ipv4.tcp_rmem    4096 1048576 6291456
    Set Sysctl    peer    net.ipv4.tcp_wmem    4096 1048576 6291456
    Every Link Should Carry Traffic

Interrupts Arrive At The CPU That A Test Gives Them
    [Tags]    req:SUS-08/irq-effect
    Set IRQ Affinity    dut    0
    Interrupts Should Arrive At    dut    0

Received Packets Are Taken Over By The CPU That A Test Gives Them
    [Tags]    req:SUS-08/steering-effect
    Set IRQ Affinity    dut    0
    Set RPS    dut    1
    Received Packets Should Be Taken Over By    dut    1

Received Packets Follow The Program That Reads Them
    [Tags]    req:SUS-08/steering-effect
    Set IRQ Affinity    dut    0
    Set RFS    dut
    Packets Should Follow Their Reader    dut

Sent Packets Leave By The Queue That A Test Gives Their CPU
    [Tags]    req:SUS-08/steering-effect
    Sent Packets Should Leave By The Queues Of Their CPU    dut    0-1
