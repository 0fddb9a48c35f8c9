*** Settings ***
Documentation    Links come up as the sheet says, and both ends see when a cable goes and comes back.

Resource         ../../resources/links.resource


*** Test Cases ***
Every Link Is Up
    [Tags]    allure.severity:blocker    req:CARD-04/link
    Every Link Should Be Up

Every Link Runs At The Speed On The Sheet
    [Tags]    req:CARD-04/link
    Every Link Should Be Up
    Every Link Should Run As On The Sheet

Every Link Carries Traffic
    [Tags]    req:CARD-04/link
    Every Link Should Carry Traffic

A Link That Is Up Stays Up
    [Tags]    req:CARD-04/link
    Every Link Should Stay Up

Frames Of The Largest MTU Arrive
    [Tags]    req:CARD-04/link
    Frames Of The Largest MTU Should Arrive

A Pulled Cable Is Seen At Both Ends In Time
    [Tags]    needs:cable    req:CARD-04/cable
    Pull A Cable
    Both Ends Should Lose Carrier In Time
    Other Links Should Have Kept Their Carrier
    [Teardown]    Plug The Cable

A Plugged Cable Carries Traffic Again In Time
    [Tags]    needs:cable    req:CARD-04/cable
    Pull A Cable
    Both Ends Should Lose Carrier In Time
    Plug The Cable
    Both Ends Should Get Carrier Back In Time
    Every Link Should Carry Traffic
    [Teardown]    Plug The Cable
