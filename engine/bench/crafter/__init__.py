"""`crafter`: a game of survival in words, by the text protocol of BALROG; the simulator is a package to install."""
