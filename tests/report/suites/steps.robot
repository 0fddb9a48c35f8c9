*** Settings ***
Library         ToyCard

*** Test Cases ***
Control Structures
    [Documentation]    Reads *width* of <eth0>.
    [Tags]    allure.feature:PCIe    allure.severity:blocker    allure.tms.TC-1:https://tests.example/1    allure.param.MTU:9000
    [Setup]    Log    before
    FOR    ${x}    IN    1    2
        IF    ${x} == 1
            Log    <script>alert(1)</script> & <eth0>
        ELSE
            No Operation
        END
    END
    TRY
        Card Fails
    EXCEPT    CardFailure*    type=GLOB
        No Operation
    FINALLY
        No Operation
    END
    WHILE    True    limit=2    on_limit=pass
        No Operation
    END
    VAR    ${width}    4
    ${speed} =    Set Variable    8 GT/s
    GROUP    Look twice
        Keep Evidence    ethtool <eth0>.txt    Speed: 1000Mb/s
    END
    [Teardown]    Log    after
