*** Settings ***
Documentation    The driver on the dut.
