"""Recovery: hits widened to units of the same version, by tables of one interval per chunk of a build."""
