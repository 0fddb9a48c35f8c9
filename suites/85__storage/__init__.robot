*** Settings ***
Documentation    Storage workloads, with the card in the server.
