"""The REST API of the annotate app: JSON doors to the services and selectors that the pages use (docs/api.md)."""
