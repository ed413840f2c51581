"""What every fixture archive carries beside its fixtures: a script that checks it, and its files' JSON Schemas."""
