"""The page and the REST interface of `adhominem serve`: requests to calls of the library."""
