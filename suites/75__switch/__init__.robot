*** Settings ***
Documentation     What the card does when a managed switch lies between it and its partner.
...
...               Where the bench has the cables lie directly and can lay them to the switch, it does so for these
...               suites, and proves at which port of the switch each port of the card is. On a bench that cannot they
...               are skipped.

Resource          ../../resources/switch.resource

Suite Setup       Connect Every Path To The Switch
Suite Teardown    Lay Every Path Back
