*** Settings ***
Documentation    The PCI Express link.
