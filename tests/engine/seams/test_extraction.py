"""Finding the final answer in a reply: marks, the last of which wins, and what never reaches them."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.seams.extraction import final_answer, marked_answers, refuses, said, trimmed, without_reasoning

LONG = 200_000


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("Answer: Paris", "Paris"),
        ("answer : Paris\n\nBecause it is.", "Paris"),
        ("**Answer:** Paris", "Paris"),
        ("**Answer**: **Paris**", "Paris"),
        ("*Final Answer:* _Paris_.", "Paris"),
        ("**Answer: Paris**", "Paris"),
        ("__Final answer: Paris__.", "Paris"),
        ("**Answer: Paris** (of France)", "Paris (of France)"),
        ("**Answer: Paris", "Paris"),
        ("**Answer:**\n\nParis\n\nBecause it is.", "Paris"),
        ("Answer: Paris,\nin France\n\nmore", "Paris,\nin France"),
        ("Answer:\nParis", "Paris"),
        ("Answer: Paris\nExplanation: it is.", "Paris"),
        ("FINAL ANSWER: Paris", "Paris"),
        ("## Final Answer\n\nParis", "Paris"),
        ("A: Paris", "Paris"),
        ("So the answer is Paris. It lies on the Seine.", "Paris"),
        ("The correct answer to the question is: **Paris**", "Paris"),
        ("The answer is Dr. B. R. Ambedkar. He wrote it.", "Dr. B. R. Ambedkar"),
        ("The answer is B. It is the second.", "B"),
        ("Answer: the following:\n\nParis", "the following:\n\nParis"),
        ("Answer:\n- Paris\n- Rome", "- Paris\n- Rome"),
        ("Answer: \\[\nx\n+ 1\n\\]", "x\n+ 1"),
        ("The answer is:\n\n$$\nx+1\n$$", "x+1"),
        ("<answer>Paris</answer>", "Paris"),
        ("<ANSWER>\nParis\n</ANSWER> It is.", "Paris"),
        ("<answer> Paris", "Paris"),
        ("[FINAL ANSWER] Paris [/FINAL ANSWER]", "Paris"),
        ("Thought: it is Paris.\nAction: Finish[Paris]", "Paris"),
        (r"we get \boxed{Rome} or so. Then \boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed{3} and \boxed{5}", "3, 5"),
        (r"a \boxed{Rome} and \boxed{broken", "Rome"),
        ('{"reasoning": "the answer is Rome", "answer": "Paris"}', "Paris"),
        ('```json\n{\n "reasoning": "a\nb",\n "answer": "\\\\frac{1}{2}"\n}\n```', r"\frac{1}{2}"),
        ('{"final_answer": 42, "unit": "eggs"}', "42"),
        ('{"answer": ["Paris", "Rome"]}', "Paris; Rome"),
        ('{"answer": "It is old.\\nAnswer: Paris"}', "Paris"),
        ('{"answer": "<answer>Paris", "sure": true}', "Paris"),
        ("Die Antwort ist Paris.", "Paris"),
        ("Antwort: Paris", "Paris"),
        ("La réponse est Paris.", "Paris"),
        ("La respuesta es: Paris", "Paris"),
        ("答案是 Paris", "Paris"),
        ("答案：Paris", "Paris"),
        ("Ответ: Paris", "Paris"),
    ],
)
def test_a_mark_says_where_the_answer_is(reply: str, answer: str) -> None:
    assert final_answer(reply) == answer
    assert final_answer(f"{reply}\n\nI hope this helps.") == answer  # the last line is not what counts


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("Answer: Rome\nno, wait\n\nFinal answer: Paris", "Paris"),
        (r"\boxed{Rome}, but the answer is Paris.", "Paris"),
        ("The answer is Rome. <answer>Paris</answer>", "Paris"),
        (r"Answer: $\boxed{Paris}$", "Paris"),
        ("FINAL ANSWER:\n<answer>\nParis\n</answer>", "Paris"),
        ("Final Answer: The final answer is $3$. I hope it is correct.", "3"),
    ],
)
def test_the_last_mark_wins_and_of_nested_ones_the_inner(reply: str, answer: str) -> None:
    assert final_answer(reply) == answer


@pytest.mark.parametrize(
    "reply",
    [
        "Answer: Paris\n\nFinal answer:",
        "Answer: Paris\n\nFinal answer: ...",
        'Answer: Paris\n\n{"answer": null}',
        "The answer is Paris.\nThe answer is not Rome.",
        "The answer is Paris. If the answer is Rome, he erred.",
        "Answer: Paris\n\nThe answer is consistent with Rome.",
        "Answer: Paris\n\nThe answer is correct.",
    ],
)
def test_an_empty_a_denied_and_a_supposed_mark_are_none(reply: str) -> None:
    assert final_answer(reply) == "Paris"


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("Paris", "Paris"),
        ("I think.\n\nParis.\n", "Paris"),
        ("Paris\n```\n", "Paris"),
        ("A: Rome\nB: Paris\nI take the second.", "I take the second"),
        ("", ""),
        ("   \n\t\n", ""),
        ("}\n```", ""),
        ("Answer:", ""),
        ("**Final Answer**", ""),
        ("<answer></answer>", ""),
        ("Paris\n\nAnswer:\n", "Paris"),
    ],
)
def test_without_a_mark_the_last_line_with_a_word_counts(reply: str, answer: str) -> None:
    assert final_answer(reply) == answer


@pytest.mark.parametrize(
    ("reply", "kept"),
    [
        ("<think>Answer: Rome</think>Paris", "Paris"),
        ("Paris <think>Rome</think>x", "Paris x"),
        ("<thinking>Rome</thinking>\nParis", "\nParis"),
        ("<reasoning>Rome</reasoning><scratchpad>Bern</scratchpad>Paris", "Paris"),
        ("Rome, or not?</think>Paris", "Paris"),
        ("<think>Paris", ""),
        ("Paris<think>Rome", "Paris"),
        ("<think>a<think>b</think>c</think>Paris", "Paris"),
        ("Rome<think>a<think>b</think>c</think>Paris", "Paris"),
        ("[THINK]Rome[/THINK]Paris", "Paris"),
        ("<|channel|>analysis<|message|>Rome<|end|><|channel|>final<|message|>Paris", "Paris"),
        ("<|channel|>analysis<|message|>Rome", ""),
    ],
)
def test_reasoning_is_dropped_wherever_it_is(reply: str, kept: str) -> None:
    assert without_reasoning(reply) == kept


@pytest.mark.parametrize(
    "reply",
    [
        "Paris</s></s>", "Paris<|im_end|>\n<|im_start|>user\nRome", "Paris<|eot_id|>Rome", "Paris [end of text]",
        "<s> Paris</s>", "<|im_start|>assistant\nParis<|im_end|>", "Paris<end_of_turn>",
        "Paris<｜end▁of▁sentence｜>Rome",
    ],
)  # fmt: skip
def test_template_tokens_and_what_follows_them_are_dropped(reply: str) -> None:
    assert said(reply).strip() == "Paris"


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("The answer is Paris.\n\nQ: And of Italy?\nA: Rome", "Paris"),
        ("Answer: Paris\n\n### Question 2: And of Italy?\nAnswer: Rome", "Paris"),
        ("Paris\n\nQuestion: And of Italy?\nAnswer: Rome", "Paris"),
        ("It is Paris, of course, as all know.\nHuman: And of Italy?\nAssistant: The answer is Rome.",
         "It is Paris, of course, as all know"),
        ("We know that the answer is Paris, of course.\n\nQ: And of Italy?\nA: Rome", "Paris, of course"),
        ("Question: What is it?\nAnswer: Paris", "Paris"),
        ("Let me see:\nQuestion: What is it?\nAnswer: Paris", "Paris"),
        ("Let me first say the question again.\nQuestion: What is it?\nAnswer: Paris", "Paris"),
    ],
)  # fmt: skip
def test_questions_that_a_model_asks_itself_after_its_answer_are_dropped(reply: str, answer: str) -> None:
    assert final_answer(reply) == answer


@pytest.mark.parametrize(
    "slot",
    ["<number>", "<answer>", "<the answer, as short as it can be>", "<your final answer here>", "<number, yes or no>",
     "< short answer >", "[your answer]", "[answer]", "[insert the answer here]", "[letter]", "{answer}",
     "{your_answer}", "Finish[answer]", "\\boxed{}",
     "\\boxed{answer}", "\\boxed{\\text{Final Answer}}", "...", "\\boxed{...}", "\\boxed{\\ldots}", "____"],
)  # fmt: skip
def test_a_copied_placeholder_is_no_answer_and_what_is_before_or_after_it_is_read(slot: str) -> None:
    assert final_answer(f"It is Paris.\nAnswer: Paris\n\nFinal answer: {slot}") == "Paris"
    assert final_answer(f"Final answer: {slot}\nParis") == "Paris"
    assert final_answer(f"Paris\n\nAnswer: {slot}\n") == "Paris"
    assert final_answer(f"Answer: {slot}") == ""


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("<answer>Paris</answer>", "Paris"),
        ("<answer>\nParis", "Paris"),
        ("Answer: <answer>Paris</answer>", "Paris"),
        ("Answer: <name>Paris</name>", "<name>Paris</name>"),
        ("[ANSWER] Paris", "Paris"),
        ("Answer: list[number]", "list[number]"),
        ("Answer: [text](https://example.org)", "[text](https://example.org)"),
        ("Answer: x_{value}", "x_{value}"),
        ("\\section*{Answer} is a heading", "\\section*{Answer} is a heading"),
        ("Answer: \\frac{result}{number}", "\\frac{result}{number}"),
        ("Answer: <b>", "<b>"),
        ("Answer: [1, 2]", "[1, 2]"),
        ("Answer: the number of words", "the number of words"),
    ],
)
def test_what_only_looks_like_a_placeholder_is_kept(reply: str, answer: str) -> None:
    assert final_answer(reply) == answer


def test_a_mark_of_a_benchmarks_own_ranks_with_the_others() -> None:
    def arrows(text: str) -> Iterator[tuple[int, str]]:
        if (place := text.find("=>")) >= 0:
            yield place, text[place + 2 :].partition("\n")[0]

    assert final_answer("=> Paris.\nmore", arrows) == "Paris"
    assert final_answer("=> Rome.\nAnswer: Paris", arrows) == "Paris"
    assert final_answer("<think>=> Rome</think>Answer: Paris", arrows) == "Paris"


@pytest.mark.parametrize(
    "text",
    ["I cannot answer this.", "There is not enough information.", "Unknown", "I don't know who it was.", "N/A",
     "It cannot be determined from the text.", "None of the above."],
)  # fmt: skip
def test_a_refusal_is_seen(text: str) -> None:
    assert refuses(text)
    assert not refuses("Paris, which can be found on every map.")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('"Paris"', "Paris"),
        ("“Paris”.", "Paris"),
        ("'Paris", "'Paris"),
        ("**Paris**.", "Paris"),
        ("$x+1$.", "x+1"),
        (r"\(x+1\)", "x+1"),
        ("$a$ and $b$", "$a$ and $b$"),
        ("Paris..", "Paris.."),
        ("18.", "18"),
        ('"**Paris.**"', "Paris"),
        ("U.S.", "U.S"),
        ("**", "**"),
        (".", ""),
    ],
)
def test_trimming_takes_off_quotes_emphasis_and_one_full_stop(text: str, kept: str) -> None:
    assert trimmed(text) == kept


@pytest.mark.parametrize(
    "piece",
    ["Answer: ", "\\boxed{", "\\boxed{}", "<think>", "<answer>", "the answer is ", '"answer": "', '"answer": [',
     "Finish[", "\nQ: ", "\nQ: x\nAnswer: 3", "the answer to ", " ", "*", "#", "\n", "<|", "A:\n", "1,", "not ",
     "{", "$", "（", "<number>", "<answer>x", "<the ", "[answer]", "{the answer ", "\\boxed{answer}", "</answer>"],
)  # fmt: skip
def test_a_long_reply_of_nothing_but_beginnings_is_read_at_once(piece: str) -> None:
    assert isinstance(final_answer(piece * (LONG // len(piece))), str)  # a quadratic search takes minutes


@given(st.text(alphabet='ab \n.*_"\\boxed{}<think>/Answer:#$[]12', max_size=200))
def test_extraction_never_raises(reply: str) -> None:
    assert isinstance(final_answer(reply), str)


@given(st.text(max_size=100), st.sampled_from(["Answer: {}", "<answer>{}</answer>", "Finish[{}]", "The answer is {}."]))
def test_what_precedes_the_last_mark_changes_nothing(before: str, mark: str) -> None:
    text = before.replace("<", "").replace("[", "") + "\n\n" + mark.format("Paris")
    assert next(marked_answers(text)) == "Paris"
