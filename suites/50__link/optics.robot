*** Settings ***
Documentation    The modules in the cages of the ports are read right, and what they receive follows the light.

Resource         ../../resources/links.resource


*** Test Cases ***
Every Module Is Read Right And Within Its Own Limits
    [Tags]    req:CARD-04/module
    Every Link Should Be Up
    Every Module Should Be Read Right

Received Power Falls And Returns With The Light
    [Tags]    req:CARD-04/light
    Every Link Should Be Up
    Received Power Should Follow The Light
