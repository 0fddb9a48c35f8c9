*** Settings ***
Documentation    Throughput of the card.
