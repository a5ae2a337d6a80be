"""What the record of a run lets one conclude, pure as engine/rules is."""
