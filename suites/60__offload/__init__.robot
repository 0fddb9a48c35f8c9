*** Settings ***
Documentation    What the card does for the processor, and what can be set of it.
