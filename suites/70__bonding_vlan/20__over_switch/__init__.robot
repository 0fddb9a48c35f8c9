*** Settings ***
Documentation     A managed switch lies between the card and its partner. One end sees a link fail, and the switch has
...               to learn where that end is now.
...
...               A bench that can rewire its cables to the switch does so for these suites, and proves at which port of
...               the switch each port of the card is. On a bench that cannot they are skipped.

Resource          ../../../resources/switch.resource

Suite Setup       Connect Every Path To The Switch
Suite Teardown    Lay Every Path Back
