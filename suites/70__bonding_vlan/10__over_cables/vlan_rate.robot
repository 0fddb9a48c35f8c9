*** Settings ***
Documentation    A VLAN on a bond is nearly as fast as the bond alone, by the sheet's fraction for a VLAN.

Resource         ../../../resources/traffic.resource

Test Tags        slow


*** Test Cases ***
A VLAN On An active-backup Bond Is As Fast As The Sheet Allows
    [Tags]    allure.severity:critical    req:SUS-07
    TCP In A VLAN On A Bond Should Reach The Fraction On The Sheet
