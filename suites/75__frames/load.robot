*** Settings ***
Documentation    Every port sends and receives at once. The throughput suite judges the rate of single paths.

Resource         ../../resources/frames.resource

Test Teardown    Ready The Bench


*** Test Cases ***
Every Path Carries Full Load In Both Directions
    [Tags]    allure.severity:critical    req:CARD-11    req:NFS-06/full-duplex
    Full Load Should Be Carried
