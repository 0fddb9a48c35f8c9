*** Settings ***
Documentation    What the lab itself needs before it judges a card: power, consoles, shells.
