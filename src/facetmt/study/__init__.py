"""Systems by seeds from one recipe, side by side: the study file, its folder, its cells."""
