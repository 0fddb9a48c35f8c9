*** Settings ***
Documentation    The effect of each setting on the traffic, against the prediction of the sheet, with its source.
...
...              Runs with and without the setting are made in turns. `robot --prerunmodifier
...              libraries/listeners/PerCard.py:CARD suites/` makes a test of its own of every effect.

Resource         ../../resources/sweeps.resource

Test Timeout     5 h

Test Tags        slow


*** Test Cases ***
Every Setting Has The Effect On The Sheet
    [Tags]    allure.severity:critical    per:setting
    Effect Should Be As On The Sheet    every

Each Factor Alone Changes What The Sheet Predicts
    [Tags]    req:DEL-02/tcp
    Each Factor Alone Should Change What The Sheet Predicts

Coalescing Adapts To The Load
    [Tags]    req:NFS-06/adaptive
    Coalescing Should Adapt To The Load

Longer Coalescing Holds Frames Longer
    [Tags]    req:NFS-06/coalescing-times
    Longer Coalescing Should Hold Frames Longer
