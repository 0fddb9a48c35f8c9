*** Settings ***
Documentation    Settings change while traffic flows, and are kept when a port goes down and up. The card tests itself.

Resource         ../../resources/frames.resource

Test Teardown    Ready The Bench

Test Tags        req:CARD-12


*** Test Cases ***
Traffic Survives Changes Of Settings
    [Tags]    allure.severity:critical
    Traffic Should Survive Random Changes

Settings Survive Down And Up
    Settings Should Survive Down And Up

The Self Test Passes While The Port Is In Use
    Self Test Should Pass    offline=False

The Whole Self Test Passes
    [Tags]    slow
    Self Test Should Pass    offline=True
