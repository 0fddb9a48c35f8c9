*** Settings ***
Documentation    A port that is taken away comes back as it was: same identity, link, settings and traffic.
...
...              No other port is disturbed meanwhile. Twice each in quick runs, 20 times in full ones.

Resource         ../../resources/card.resource

Test Tags        allure.severity:critical


*** Test Cases ***
A Port Comes Back When Its Driver Is Bound Again
    [Tags]    req:CARD-15/rebind
    Every Port Should Come Back    REBIND

A Port Comes Back When It Is Found On The Bus Again
    [Tags]    req:CARD-15/rescan
    Every Port Should Come Back    RESCAN

A Port Comes Back From A Reset
    [Documentation]    Of the function while no driver has it, and by the driver where that offers one.
    [Tags]    req:CARD-15/reset
    Every Port Should Come Back    RESET
