"""Readers of the files people bring: each turns bytes into checked values and names the place of every problem."""
