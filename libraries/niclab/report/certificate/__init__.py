"""The certificate: what was qualified, whether it holds, and why not if it does not."""
