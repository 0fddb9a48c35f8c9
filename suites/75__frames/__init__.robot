*** Settings ***
Documentation    Weak points of cards that carry one connection well: data, filters, queues, load, changes.
