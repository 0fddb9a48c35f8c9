*** Settings ***
Library         ToyCard

*** Test Cases ***
The Card Trains To Its Width
    [Tags]    req:CARD-03/idle    allure.severity:blocker
    Keep Evidence    lspci.txt    LnkSta: Speed 2.5GT/s, Width x1

The Link Comes Up
    [Tags]    req:CARD-04/link    req:CARD-03/loaded
    Log    up

The Switch Port Comes Back
    [Tags]    req:CARD-05/access
    Not Applicable
