"""Pages for people: the certificate as HTML and PDF, charts and drawings, several runs as one."""
