*** Settings ***
Documentation    The paths lie as the bench file has them. A link fails when its cable is pulled: the card only sees
...              that its link goes down.
