"""Models of physiology: ordinary differential equations from model files, on a device."""
