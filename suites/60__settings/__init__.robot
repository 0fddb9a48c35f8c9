*** Settings ***
Documentation    Settings of the card: offloads, rings, queues, coalescing, pause frames, MTU, steering.
