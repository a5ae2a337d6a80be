from mage_es.engine.standins.reference.solutions import final_answer, to_plain, work_out

SOLUTION = "She sold 48/2 = <<48/2=24>>24 clips in May.\nTogether it is $48 plus $24 = $<<48+24=72>>72.\n#### 72"


def test_annotations_and_the_final_line_are_cleaned_away() -> None:
    assert to_plain(SOLUTION) == "She sold 48/2 = 24 clips in May.\n48 + 24 = 72"


def test_a_solution_without_annotations_stays_as_it_is() -> None:
    assert to_plain("Whole: 4 * 6 = 24\nLeft: 24 - 5 = 19\n#### 19") == "Whole: 4 * 6 = 24\nLeft: 24 - 5 = 19"


def test_the_final_answer_follows_the_marks() -> None:
    assert final_answer(SOLUTION) == "72"
    assert final_answer("no marks") == ""


def test_a_solution_is_worked_out_over_the_question() -> None:
    worked = work_out("She sold 48 clips in April and half as many in May. How many?", SOLUTION, answer="72")
    assert worked is not None
    assert len(worked.chain.steps) == 2 and worked.chain.odd == 0


def test_prose_without_equations_cannot_be_worked_out() -> None:
    assert work_out("She sold 48 clips.", "It is obvious.", answer="72") is None
    assert work_out("She sold 48 clips.", SOLUTION, answer="many") is None
