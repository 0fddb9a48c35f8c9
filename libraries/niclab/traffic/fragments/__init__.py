"""Large datagrams that the network cuts into fragments: whether each arrives whole."""
