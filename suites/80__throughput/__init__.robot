*** Settings ***
Documentation    What the card carries.
