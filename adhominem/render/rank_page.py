"""stub"""

from adhominem.attribute.ranking import Ranking


def rank_page(ranking: Ranking) -> str:
    """stub"""
    return "x"
