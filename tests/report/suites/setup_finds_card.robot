*** Settings ***
Library         ToyCard
Suite Setup     Card Fails

*** Test Cases ***
Cannot Run With This Card
    No Operation
