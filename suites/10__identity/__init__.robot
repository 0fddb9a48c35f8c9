*** Settings ***
Documentation    The card is what the sheet says.
