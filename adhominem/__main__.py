"""`python -m adhominem` is the command `adhominem`."""

from adhominem.cli import main

if __name__ == "__main__":
    main()
