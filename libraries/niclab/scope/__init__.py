"""What a certificate must cover: the requirements of the lab, and plans that choose among them."""
