*** Settings ***
Documentation     SSHLibrary sessions for suites of one's own: commands, background programs, files.

Resource          ../../resources/shell.resource
Library           OperatingSystem

Suite Setup       Open Shells
Suite Teardown    Close Shells

Test Tags         req:CARD-08


*** Test Cases ***
Commands Run On Their Own Server
    ${dut}    ${dut rc} =    DutShell.Execute Command    uname -n; exit 3    return_rc=True
    ${peer}    ${peer rc} =    PeerShell.Execute Command    uname -n; exit 4    return_rc=True
    Should Be Equal As Integers    ${dut rc}    3
    Should Be Equal As Integers    ${peer rc}    4
    Should Not Be Equal    ${dut}    ${peer}

A Background Program Is Read When It Has Ended
    PeerShell.Start Command    sleep 1; echo done
    ${kernel} =    DutShell.Execute Command    uname -s
    ${output} =    PeerShell.Read Command Output
    Should Be Equal    ${output}    done
    Should Match Regexp    ${kernel}    ^(Linux|FreeBSD)$

A File Goes There And Comes Back Unchanged
    VAR    ${text} =    first line\nsecond line: äöü\n
    Create File    ${TEMPDIR}/niclab-there.txt    ${text}
    DutShell.Put File    ${TEMPDIR}/niclab-there.txt    /tmp/niclab-copy.txt
    DutShell.Get File    /tmp/niclab-copy.txt    ${TEMPDIR}/niclab-back.txt
    ${back} =    OperatingSystem.Get File    ${TEMPDIR}/niclab-back.txt
    Should Be Equal    ${back}    ${text}
    [Teardown]    Remove The Files


*** Keywords ***
Remove The Files
    [Documentation]    Nothing of the copies stays, here or there.
    Remove Files    ${TEMPDIR}/niclab-there.txt    ${TEMPDIR}/niclab-back.txt
    DutShell.Execute Command    rm -f /tmp/niclab-copy.txt
