*** Settings ***
Documentation    Needs of the lab itself before it judges a card: power, consoles, shells.
