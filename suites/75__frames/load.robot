*** Settings ***
Documentation    Every port sends and receives at once. The throughput suite judges the rate of single paths.

Resource         ../../resources/frames.resource

Test Teardown    Ready The Bench

Test Tags        req:CARD-11


*** Test Cases ***
Every Path Carries Full Load In Both Directions
    [Tags]    allure.severity:critical
    Every Path Should Carry Full Load
