*** Settings ***
Documentation     Qualification of one network card on a bench of two servers.
...
...               The bench is acquired, its wiring proven, and it is left as it was found. Before each test both
...               servers answer and their test ports are up; a server that a test lost is recovered by its BMC.

Resource          ../resources/bench.resource

Suite Setup       Acquire The Bench
Suite Teardown    Release The Bench
Test Setup        Ready The Bench
Test Timeout      1 h
