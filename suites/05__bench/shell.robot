*** Settings ***
Documentation     SSHLibrary sessions for suites of one's own: commands, background programs, files.

Resource          ../../resources/shell.resource

Suite Setup       Open Shells
Suite Teardown    Close Shells
Test Timeout      2 min


*** Test Cases ***
Commands Run On Their Own Server
    [Tags]    req:CARD-08/suites
    DutShell.Commands Should Run On The Server
    PeerShell.Commands Should Run On The Server

A Background Program Is Read When It Has Ended
    [Tags]    req:CARD-08/suites
    DutShell.Background Program Should Be Read When It Ends
    PeerShell.Background Program Should Be Read When It Ends

A File Goes There And Comes Back Unchanged
    [Tags]    req:CARD-08/suites
    DutShell.File Should Come Back Unchanged
    PeerShell.File Should Come Back Unchanged
