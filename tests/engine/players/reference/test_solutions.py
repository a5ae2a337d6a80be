from mage_es.engine.players.reference.solutions import to_plain, work_out

SOLUTION = "She sold 48/2 = 24 clips in May.\n\nTogether it is 48 + 24 = 72.\n#### 72"


def test_empty_lines_and_the_final_line_are_left_out() -> None:
    assert to_plain(SOLUTION) == "She sold 48/2 = 24 clips in May.\nTogether it is 48 + 24 = 72."


def test_a_solution_is_worked_out_over_the_question() -> None:
    worked = work_out("She sold 48 clips in April and half as many in May. How many?", SOLUTION, answer="72")
    assert worked is not None
    assert len(worked.chain.steps) == 2 and worked.chain.odd == 0


def test_prose_without_equations_cannot_be_worked_out() -> None:
    assert work_out("She sold 48 clips.", "It is obvious.", answer="72") is None
    assert work_out("She sold 48 clips.", SOLUTION, answer="many") is None
