"""Sessions: one process at work on one run. session.py explains how; the other modules are its parts.

session         a run's log, state and models, and what the loop and the verbs do with them
recording       a command is decided, its events are committed, then applied
reporting       progress goes out, a stop comes in
clients         one client for each tier: retried, tracked, batched
answering       planned questions, their courses followed side by side
guiding         typed replies of the guidance tier

beginning       what is recorded before the work: opening, limits, signature
resuming        reopening a run
evolving        EVOLVE's calls

course_choice   which course answers a planned question
catching_up     leads a course through what the log already has
following       many courses at once
effects         what a course's moves do
episodes        the course of an episode
judge           the course of a verdict
streak          verdicts in order; a scorer that keeps failing stops the run
call            one call, its failures and outcome; a typed reply and its repair
queueing        the seam of a queue that sends its calls to the provider as one batch
in_flight       how many calls a killed process had in flight, and how busy the slots were
"""
