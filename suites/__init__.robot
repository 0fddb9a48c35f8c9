*** Settings ***
Documentation     Qualification of one network card on a bench of two servers.
...
...               The bench is taken, its wiring proven, and it is left as it was found. Before each test both servers
...               answer and their test ports are up; a server that a test lost is recovered by its BMC.

Resource          ../resources/bench.resource

Suite Setup       Take The Bench
Suite Teardown    Give The Bench Back
Test Setup        Ready The Bench
Test Teardown     Keep Evidence If Test Failed
