"""Models of physiology: ordinary differential equations from SBML, PHML, ISML and CellML files, on a device."""
