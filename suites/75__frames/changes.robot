*** Settings ***
Documentation    Settings change while traffic flows, and are kept when a port goes down and up. The card tests itself.

Resource         ../../resources/frames.resource

Test Teardown    Ready The Bench


*** Test Cases ***
Traffic Survives Changes Of Settings
    [Tags]    allure.severity:critical    req:CARD-12/under-traffic
    Traffic Should Survive Changes Of Settings

Settings Survive Down And Up
    [Tags]    req:CARD-12/down-up
    Settings Should Survive Down And Up

The Self Test Passes While The Port Is In Use
    [Tags]    req:CARD-12/self-test
    Self Test Should Pass    offline=False

The Whole Self Test Passes
    [Tags]    slow    req:CARD-12/whole-self-test
    Self Test Should Pass    offline=True
