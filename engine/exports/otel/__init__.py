"""OpenTelemetry: a log's events as spans and verdicts, by its semantic conventions for generative AI, and sending
them."""
