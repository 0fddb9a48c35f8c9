*** Settings ***
Documentation    Bonds and VLANs over the card's ports.
