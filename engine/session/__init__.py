"""Sessions: one process at work on one run. session.py explains how; the other modules are its parts.

session         the log, the state and the models of a run; decides and commits; answers planned questions course_choice
which course answers a planned question episodes judge  courses: an episode, and the verdict on any answer following
many courses at once effects what a course's moves do call            one call, its failures and outcome; a typed reply
and its repair batches         calls that go to the provider as one batch in_flight       how many calls a killed
process leaves behind evolving        EVOLVE's calls resuming        reopening a run
"""
