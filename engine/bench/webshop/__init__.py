"""`webshop-100` and `webshop-1000`: shopping in a catalogue of real products, as text; no server, no Java."""
