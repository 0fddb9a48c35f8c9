*** Settings ***
Documentation       Every verdict, told the ways Robot Framework tells it.
Library             ToyCard

*** Test Cases ***
Passes
    No Operation

Card Fails
    [Tags]    req:CARD-03    needs:bmc    req:CARD-04
    Card Fails    dut.<eth0> trained to <b>x4</b> & worse

Card Fails With Markup
    Card Fails    *HTML* <b>dut.p0</b> is &lt;bad&gt;

Bench Faults
    Bench Faults

Line Is Lost
    Line Is Lost

Cannot Tell
    Cannot Tell

Not Applicable
    Not Applicable

Unknown Keyword
    There Is No Such Keyword

Times Out
    [Timeout]    50 ms
    Sleep    5 s

Plain Assertion
    Should Be Equal    1    2

Teardown Fails Too
    Card Fails
    [Teardown]    Bench Faults

Several Failures
    Run Keyword And Continue On Failure    Bench Faults
    Run Keyword And Continue On Failure    Card Fails

Failure Behind A Skip Tag
    [Tags]    robot:skip-on-failure
    Card Fails

Failure Behind A Skipping Teardown
    Card Fails
    [Teardown]    Not Applicable

Retried
    Wait Until Keyword Succeeds    2x    1 ms    Card Fails

Quoted Card Failure
    Run Keyword And Expect Error    something else    Card Fails

Skipped By Tag
    [Tags]    robot:skip
    No Operation
