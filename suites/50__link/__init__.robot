*** Settings ***
Documentation    The network links.
