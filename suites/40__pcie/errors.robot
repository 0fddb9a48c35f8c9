*** Settings ***
Documentation    The card's PCI Express links count no errors, whatever they carry.

Resource         ../../resources/card.resource
Resource         ../../resources/traffic.resource


*** Test Cases ***
The Link Counts No Errors Under Load
    [Tags]    req:CARD-03/errors
    Remember PCIe Errors
    Load Every Path Both Ways
    PCIe Errors Should Not Have Grown

The Link Counts No Errors While The Driver Is Loaded Again
    [Tags]    req:CARD-03/errors
    Remember PCIe Errors
    Reload The Driver
    PCIe Errors Should Not Have Grown
