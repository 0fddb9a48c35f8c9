*** Settings ***
Documentation    Where cards fail that carry one connection well: data, filters, load, changes under traffic.
