"""Files of the lab as typed records: YAML with line numbers, field types, secrets."""
