*** Settings ***
Documentation    The offload table of the sheet: every row set and put back, its side effects, refusals, and counters.
...
...              `robot --prerunmodifier libraries/listeners/PerCard.py:CARD suites/` makes one test of every row.

Resource         ../../resources/settings.resource


*** Test Cases ***
Every Offload Can Be Switched As On The Sheet
    [Documentation]    A fixed offload stays as it is. One that goes off takes along the offloads of the sheet, no more.
    [Tags]    allure.severity:critical    per:offload    req:EMX-06/switching
    Offload Should Switch As On The Sheet    every

Every Offload Is Proven By Its Counters
    [Documentation]    With traffic, the counters that the sheet names grow with the offload on, and not with it off.
    [Tags]    allure.severity:critical    per:offload    slow    req:CARD-06/counters
    Offload Counters Should Follow The Switch    every

Unsupported Feature Names Are Refused
    [Tags]    req:EMX-06/refused
    Unsupported Feature Names Should Be Refused
