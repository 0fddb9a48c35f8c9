*** Settings ***
Library         ToyCard
Suite Setup     Bench Faults    peer: no answer

*** Test Cases ***
Never Runs
    No Operation
