"""The page and the REST interface of `adhominem serve`. Thin: it says what the others found."""
