*** Settings ***
Documentation    The card is the one on the sheet, with the driver it must have and one firmware on all ports.

Resource         ../../resources/card.resource


*** Test Cases ***
Every Port Is The Card On The Sheet
    [Tags]    allure.severity:blocker    req:EMX-03/ports
    Every Port Should Be The Card On The Sheet

The Dut Shows As Many Ports As The Sheet Says
    [Tags]    req:EMX-03/ports
    Dut Should Show As Many Ports As The Sheet Says

Every Port Has A MAC Address Of Its Own
    [Tags]    req:EMX-03/ports
    Every Port Should Have A MAC Address Of Its Own

No Serial Number Is On Both Servers
    [Tags]    req:EMX-03/serial-number
    No Serial Number Should Be On Both Servers

Every Port Offers The Speeds On The Sheet
    [Tags]    req:EMX-03/speeds
    Every Port Should Offer The Speeds On The Sheet

Every Port Has A Medium On The Sheet
    [Tags]    req:EMX-03/medium
    Every Port Should Have A Medium On The Sheet

Every Port Is Driven By The Driver On The Sheet
    [Tags]    req:EMX-03/driver
    Every Port Should Be Driven By The Driver On The Sheet

All Ports Run The Same Firmware
    [Tags]    req:EMX-03/firmware    req:CARD-02/check
    All Ports Should Run The Same Firmware
