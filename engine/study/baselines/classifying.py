"""A text classifier, which no model is asked for: what a user would train instead of keeping a memory.

A linear support vector machine (Cortes and Vapnik 1995) by scikit-learn, on words, pairs of words and groups of three
and four letters, weighted by TF-IDF. Its classes are the right answers of the cases, so it can give no other.
"""

from importlib.util import find_spec
from typing import Any

from mage_es.engine.seams.benchmark import Question
from mage_es.engine.study.baselines.method import PreparedTask, RunView, ShownCase
from mage_es.engine.study.baselines.methods import Cases
from mage_es.events.errors import PrerequisiteError


def require_scikit_learn() -> None:
    """Raises `PrerequisiteError` if the package is missing."""
    if find_spec("sklearn") is None:
        raise PrerequisiteError("The method linear_svm needs scikit-learn: python -m pip install 'mage-es[classifier]'")


class LinearSvm(Cases):
    """A model is asked only while there is no case yet."""

    is_modelless, plays, reduced = True, False, ""
    require = staticmethod(require_scikit_learn)

    def __init__(self, view: RunView) -> None:
        require_scikit_learn()
        super().__init__(view._replace(is_reasoned=False))
        self._learned: tuple[list[ShownCase], Any] = ([], None)

    def prepare(self, task: Question) -> PreparedTask:
        cases = self.others(task)
        if len(answers := {case.reply for case in cases}) < 2:
            return PreparedTask(reply=next(iter(answers), None))
        if cases != self._learned[0]:
            texts, replies = [case.question.question for case in cases], [case.reply for case in cases]
            self._learned = cases, linear_svm(self.view.seed).fit(texts, replies)
        [reply] = self._learned[1].predict([task.question])
        return PreparedTask(reply=str(reply))


def linear_svm(seed: int) -> Any:
    """Return the classifier of texts, which has not learned yet."""
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    return make_pipeline(weighed_words(), LinearSVC(random_state=seed % 2**32))


def weighed_words() -> Any:
    """Return what turns texts into weights of their words, pairs of words, and groups of three and four letters."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_union

    letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 4), sublinear_tf=True)
    return make_union(TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True), letters)
