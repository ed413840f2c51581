"""The demo study: its files (see README.md), and what reads them. Nothing in this package writes a row."""

from __future__ import annotations

from pathlib import Path

#: Where the shipped demo study lies.
FOLDER = Path(__file__).resolve().parent
