"""AdHominem: were two texts written by the same person, and how strong is the evidence?"""

__version__ = "0.1.0"
