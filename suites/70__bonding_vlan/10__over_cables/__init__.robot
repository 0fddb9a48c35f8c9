*** Settings ***
Documentation    The paths are wired as in the bench file: two servers and plain cables are enough.
...
...              A link fails when its cable is pulled, where a command of the bench does that; on a bench without such
...              a command the card's own interface is taken down (``cable-or-link``). The other end sees its link go
...              down alike. Both ends are asked why the link is down, and must name that cause.
