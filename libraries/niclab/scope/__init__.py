"""The scope of a certificate: the requirements of the lab, and plans that choose among them."""
