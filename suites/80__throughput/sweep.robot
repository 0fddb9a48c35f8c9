*** Settings ***
Documentation    Bandwidth against message size at MTU 576, 1500 and 9000: large messages reach the sheet's limits, the
...              others what a larger message, or a larger frame, predicts.
...
...              The quick profile measures a dozen points, the full one all 111. A point is repeated until its answer
...              is clear, or, where nothing says what it must be, until its interval is narrow.

Resource         ../../resources/sweeps.resource

Test Timeout     5 h

Test Tags        allure.severity:critical


*** Test Cases ***
TCP Stream Reaches The Limits At Every MTU
    [Tags]    req:EMX-07/tcp-stream
    Sweep Should Reach The Limits    TCP_STREAM

TCP Sendfile Reaches The Limits At Every MTU
    [Tags]    req:EMX-07/tcp-sendfile
    Sweep Should Reach The Limits    TCP_SENDFILE

UDP Stream Reaches The Limits At Every MTU
    [Tags]    req:EMX-07/udp-stream
    Sweep Should Reach The Limits    UDP_STREAM

TCP Stream Reaches The Limits In Every Direction Over Every Path
    [Tags]    slow    req:EMX-07/directions
    Sweep Should Reach The Limits In Every Direction    TCP_STREAM

UDP Stream Reaches The Limits In Every Direction Over Every Path
    [Tags]    slow    req:EMX-07/directions
    Sweep Should Reach The Limits In Every Direction    UDP_STREAM
