*** Settings ***
Documentation    The firmware in the card.
