*** Settings ***
Documentation    Weak points of cards that carry one connection well: data, filters, load, changes under traffic.
