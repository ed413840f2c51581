"""Numbered system checks: cutline.E### stops, cutline.W### warns."""
