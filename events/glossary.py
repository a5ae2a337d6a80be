"""What every column means: the header's, and each field of the vocabulary by its name.

A name means the same wherever it occurs; where one type gives it a sense of its own, `type.name` says so. What a type
as a whole stands for is said by its class.
"""

from __future__ import annotations

from collections.abc import Mapping

HEADER: Mapping[str, str] = {
    "seq": "place in the log, counted from 1 without gaps; the only order",
    "event_id": "identity of the fact in this run: hash of run, iteration, phase, stream, type and ordinal",
    "type": "type of the event",
    "sv": "schema version of the event's fields",
    "run": "the run, or run/exam, whose log this is",
    "iteration": "iteration in which it was recorded; -1 is the opening",
    "phase": "phase in which it was recorded",
    "ordinal": "tells apart facts of one type about one subject in one phase",
    "stream": "what the event is about, such as question/q17",
    "causation_seq": "seq of the event that led to this one; 0 for none",
    "correlation": "question or other matter that it belongs to; may be empty",
    "ts": "when it was recorded, UTC, microseconds; information only",
    "commit": "first seq of the atomic batch that it was committed in",
}

_FIELDS = """
about               what the call was about, such as a question id
achievement         what the actions led to
achievements        what was achieved
action              the rotation's action
episode.stepped.action  the action taken
action_recipes      ids of the action recipes quoted in the prompt
actions             the actions, in order
active              whether the tool may be used
after               value after the step
against             iteration that the result was compared with; -1 is the start
agent               agent that asked
alpha_after         alpha of the arm's Beta posterior after the reward, in millionths
alpha_before        alpha of the arm's Beta posterior before the reward, in millionths
answer              the answer
answer.judged.answer  the answer extracted from the reply
arguments           arguments of the tool, a JSON object
arm                 the arm that was drawn
attempt             number of the attempt
run.resumed.attempt number of this resumption, from 1
attempts            questions of the task type that were tried
authored            how many memories, recipes, tools, refinements or skills were written
bandit              which bandit: search (key: task type) or routing (key: skill)
baseline            name of the way of prompting
batch_id            the provider's name of the batch
batched             whether the reply came with a batch
before              value before the step
benchmark           name of the benchmark
best                iteration with the best anchor result so far; -1 is the start
best_drop           drop against the best iteration, as a fraction of the anchor set
best_p_value        p value of the one-sided exact sign test against the best iteration
beta_after          beta of the arm's Beta posterior after the reward, in millionths
beta_before         beta of the arm's Beta posterior before the reward, in millionths
brief               the Navigator's words about the plan
by                  id of the memory that takes its place
memory.quarantined.by  who decided
memory.released.by  who decided
cache_write_tokens  input tokens that the provider wrote into its cache
calls               the calls of the batch
cached_tokens       input tokens that the provider had cached
chain               chain value after the last event, 64 hexadecimal digits
question.planned.chain  skills whose steps are asked before the answer, in order
children            the skills that it was split into
common_shingles     sorted 8-byte hashes of the shingles that are the form of a type's questions, concatenated
confidence_micro    Laplace-smoothed share of successes over the supporting trajectories, in millionths
config              the configuration, canonical JSON
config_sha256       SHA-256 of the configuration
context_id          id of the task context
control             control condition of the exam; empty for none
correct             whether the answer is right
guard.decided.correct  anchor questions answered right
exam.closed.correct    exam questions answered right
count               how often the memory was met, this time included
cut_first           first seq that was cut out or lost; 0 for none
cut_last            last seq that was, as far as is known; 0 if nothing tells
custom_id           name of the call within its batch
data_sha256         SHA-256 of the data set
derived_from        id of the memory that this one was made from; empty for none
description         description in words
digests             digest of each projection
done                whether the episode ended with this step
donor               question that the memories were retrieved for instead; else empty
drop                drop of the anchor result, as a fraction of the anchor set
effect              what the environment says about the action alone
embedder            name of the embedder
embedder_dimension  length of its vectors
embedder_sha256     SHA-256 that identifies the embedder
embedding           what retrieval compares: a vector of float32
entity_id           id of the entity
episode_id          id of the episode
epoch               how many times the question pool was begun
evidence            successes / (successes + failures) of this step
examples            calls that the tool must get right
execution_model     model that answers questions
expected            the right answer
failure_quota       failure memories that the recipe takes
failures            wrong answers counted
familiar_correct    right answers among the questions whose phrasing family occurs in evolution too
familiar_total      questions whose phrasing family occurs in evolution too
fault               kind of the failure, such as timeout or busy
final               whether no further attempt at the call follows
first               first seq of the segment
fresh               ids of the questions asked for the first time in this epoch
frontier            the learnable frontier
guidance_model      model that writes memories, principles and plans
guiding_skill       frontier skill that stands in for a mastered one; else empty
head_chain          chain value of the run's log that was examined
head_seq            seq up to which the run's log was folded
ids_sha256          SHA-256 of the question ids
input_tokens        tokens of the request
embedding.called.input_tokens  tokens of the texts as the server counts them; 0 where it does not tell
iteration           iteration that the event belongs to; -1 is the opening
iterations          number of iterations
judge               what decided whether the answer is right
key                 the bandit's key: a task type or a skill
kind                kind of the edge
memory.appended.kind   specific or type_strategy for failure memories, else empty
entity.seen.kind    kind of the entity
label               which relation an edge of kind relation is; else empty
last                last seq of the segment
last_selected       iteration in which the task type was last selected
latency_us          time that the call took, in microseconds; information only
least_similarity    cosine below which the recipe takes no memory
length              number of characters
licence             licence of the data set
marker              marker of the state
mastery             mastery of the skill at its creation
meaning             what the parameter stands for
memories            memories placed in the prompt, with the cosine that brought them there
episode.stepped.memories  ids of the memories in the prompt that the action was chosen by
memory_id           id of the memory
model               model that replied
name                name of the tool
Parameter.name      name of the parameter
newly_observed      task types observed for the first time
number              place among the calls of the embedder in this log, from 1
observation         what the environment showed then
observation_id      hash of the text
offset              first character
oracle_stop         whether the gold answer decided when to stop revising
ordinal             place of the memory within its phase: the last part of its birth
outcome             index that the memory belongs to
action.taken.outcome  authored, nothing to author, or a refusal
output              the sub-answer
output_tokens       tokens of the reply
p_value             p value of the one-sided exact sign test on the questions that changed
package_version     release of mage-es that recorded it
parameters          parameters of the tool
parent              skill that this one refines; empty for none
parsed              whether the reply named a valid action
phase               the phase
place               how many lookups for the question that makes, from 1
planning            sub-skills of the goal shown in the prompt, in order
principles          ids of the principles placed in the prompt
problem             what was wrong; empty for nothing
projection          name of the projection
prompt_sha256       SHA-256 of the exact prompt
prompt_template     template of the skill's prompt
prompt_template_before  the template before
provider_id         the provider's id of the reply; may be empty
pulls_after         rewards that the arm had, this one included
purpose             why the question was asked
embedding.called.purpose  fingerprint: the fixed texts that tell what an embedder does; vectors: any other text
model.called.purpose  why the model was called
quarantined         files in quarantine/ that hold what was cut out
query               what was looked up
query_template      how to turn the question into the text that is embedded
question            text of the question
question_hash       16-digit hash of the normalised question that must not be learned
question_hashes     16-digit hash of each normalised question, in id order
question_id         id of the question
questions_sha256    SHA-256 of the normalised questions
reason              why it was refused
log.repaired.reason what was wrong with the log
memory.quarantined.reason  why it is kept out of prompts
memory.released.reason     why it may be retrieved again
pattern.pruned.reason      why it left the graph
skill.split.reason         why it was split
reasoning           worked reasoning
recipe_id           id of the recipe; empty for none
recognise           how to recognise the questions that a type strategy is for; else empty
repeats             fresh questions that an earlier epoch has asked already
request_sha256      SHA-256 of the request
result              the tool's result, as text
revisits            ids of the questions asked again
reward_micro        the reward, in millionths
rounds              how often an answer was revised
routing_arm         arm drawn by the routing bandit
routing_probability probability with which the routing arm was drawn; 1.0 when frozen
rows                number of events
run_id              id of the run
samples             answers that were counted as votes
score_micro         the score, in millionths
search              spec of what was searched in
search_arm          arm drawn by the search bandit
search_probability  probability with which the search arm was drawn; 1.0 when frozen
seed                seed of the run's random choices
served_by           provider's name of the model that replied, where it is not the one asked for; else empty
sha256              SHA-256 of the segment's bytes
shingles            for each question the sorted 8-byte hashes of its word shingles, concatenated; empty for evolution
shots               ids of the evolution questions whose solutions stand in every prompt
similarity          cosine between the question and the memory
memory.refused.similarity  how much of the question it holds; 1.0: word for word
memory.refused.similarity  how much of the question the refused text holds; 1.0 is word for word
size                number of questions
skill               the skill
smallest_drop       least drop that could have been noticed with the questions that changed
source              node that the edge starts from
Span.source         what the text is from, such as a memory's id
tool.authored.source  source of the tool
spans               where the retrieved texts stand in the prompt
split               name of the split
statement           the statement of the task
status              HTTP status that the provider refused with; 0 for none
step                number of the step, from 0
steps               sub-answers of a multi-step answer
episode.closed.steps  number of steps
stop_reason         why the model stopped
strategy            strategy paragraph of the skill
strategy_before     the strategy before
strategy_floor      least cosine at which a type strategy is retrieved
strict              whether the answer stood in exactly the form that was asked for
success_quota       success memories that the recipe takes
successes           right answers counted
target              node that the edge leads to
targets             the task types selected, with what their scores were made of
task_type           the task type
task_type_source    where task types come from
template            template of the prompt
text                the model's reply
pattern.abstracted.text  the pattern in words
observation.recorded.text  the text that was shown
texts               texts of the pages that were found
embedding.called.texts  how many texts the vectors were asked for
thinking_tokens     tokens of hidden thinking
tier                execution, guidance, judge or embedder
titles              titles of the pages that were found, or of similar ones
to_iteration        iteration whose snapshot is restored
tool_id             id of the tool; empty for none
total               number of questions
tries               failed attempts at the call so far, this one included
embedding.called.tries  failed attempts at the call before the reply
unanswered          questions whose call failed for good: neither right nor wrong
unparsed            replies that named no valid action
value               the digest, hexadecimal
vectors_sha256      SHA-256 of the bytes of the segment's vectors; empty if it has none
verdict             accepted, soft_rollback, hard_rollback or off
wanted              page, by its title, or passages, by a query
weight              weight of the edge
what                type of the event that was refused
wrong_answer        the wrong answer that was given; else empty
"""

FIELDS: Mapping[str, str] = {
    name: meaning for name, meaning in (line.split(maxsplit=1) for line in _FIELDS.strip().splitlines())
}
"""Meanings by field, or by `type.field`."""


def meaning(owner: str, field: str) -> str:
    """Return what a field means in an event type (by its tag) or a part (by its name)."""
    return FIELDS.get(f"{owner}.{field}") or FIELDS[field]
