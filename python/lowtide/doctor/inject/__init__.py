"""What goes into watched programs: nothing here imports lowtide, NumPy or torch."""
