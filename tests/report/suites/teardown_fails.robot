*** Settings ***
Library             ToyCard
Suite Setup         Log    taking the bench
Suite Teardown      Bench Faults    link of dut.p0 was not restored

*** Test Cases ***
Good Until The Suite Teardown
    No Operation

Skipped Before The Suite Teardown
    Not Applicable

Card Failed Before The Suite Teardown
    Card Fails
