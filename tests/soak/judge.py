import sys; print("no judge yet")
