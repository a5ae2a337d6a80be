from mage_es.engine.players.arithmetic.problems import read_problem


def test_what_a_number_is_stands_in_its_nature() -> None:
    rate, count = read_problem("Each box holds 6 jars. How many jars are in 4 boxes?").quantities
    assert {"rate", "per counted", "noun target", "kind count"} <= rate.nature.keys()
    assert {"no rate", "is counted per", "in question", "tiny"} <= count.nature.keys()


def test_the_coarser_of_two_units_is_told_from_the_finer() -> None:
    hours, minutes = read_problem("He works 3 hours, and a cup takes 20 minutes.").quantities
    assert "coarse unit" in hours.nature and "fine unit" in minutes.nature


def test_nearer_words_weigh_more() -> None:
    (pens,) = read_problem("Yesterday in town she lost 4 pens.").quantities
    assert pens.context["near before loss"] == pens.context["around loss"] > pens.context["word pen"]


def test_what_is_asked_is_told_by_word_classes() -> None:
    asked = read_problem("She has 4 pens. How many pens are left in total?").question
    assert {"how many", "asks rest", "asks total", "word pen"} <= asked.keys()
