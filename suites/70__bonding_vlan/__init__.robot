*** Settings ***
Documentation    Bonds and VLANs over the card's ports: one set of facts, proven over both wirings.
...
...              Over cables both ends see a link fail. Over the switch one end sees it: its bond changes the link,
...              and the switch has to learn where the bond is now.
...
...              | = over cables = | dut.p0 ---- peer.p0, dut.p1 ---- peer.p1 |
...              | = over switch = | dut.p0, dut.p1 ---- managed switch ---- peer.p0, peer.p1 |
