"""Complaints about work that is lost, doubled, mixed up or late, and about what grows meanwhile."""

from __future__ import annotations

from tests import complaint as of
from tests.complaint import Complaint

LOST = (
    Complaint(
        "Messages of many actors that talk at once get lost.",
        (
            f"{of.CROWD}test_bursts_to_many_agents_lose_nothing",
            f"{of.ACTORS}transport_order.py::test_burst",
            f"{of.ACTORS}transport_order.py::test_two_way_traffic",
        ),
    ),
    Complaint(
        "Of hundreds of agents that are asked, some never answer.",
        (f"{of.CROWD}test_two_hundred_agents_answer_once_each",),
    ),
    Complaint(
        "Who sends thousands of messages before reading any locks up the system.",
        (
            f"{of.CROWD}test_submitting_without_reading_wedges_nobody",
            f"{of.TWO_WAY}test_both_ways_at_once",
            f"{of.RECIPIENTS}test_a_script_that_does_not_listen",
        ),
    ),
    Complaint(
        "Under load wake-ups stop coming, and sends sit for minutes.",
        (
            f"{of.ENDING}test_a_watchdog_is_on_time_whatever_else_arrives",
            f"{of.ACTORS}transport_wakeups.py::test_chain_without_a_stall",
            f"{of.ACTORS}transport_wakeups.py::test_wakeups_outlast_transmitting",
            f"{of.ACTORS}transport_order.py::test_stopped_target",
        ),
    ),
    Complaint(
        "A turn that takes long is quietly run a second time.",
        (
            f"{of.WORK}test_a_long_turn_runs_once",
            f"{of.DAYS}test_a_turn_of_a_week_runs_once",
            f"{of.FAULTS}start_faults.py::test_a_worker_killed_as_a_prompt_comes",
        ),
    ),
    Complaint(
        "A short turn waits for somebody who has long gone.",
        (
            f"{of.RECIPIENTS}test_a_dead_recipient",
            f"{of.RECIPIENTS}test_a_stopped_recipient_that_is_killed",
        ),
    ),
    Complaint(
        "What is sent while a worker is being restarted fails at once.",
        (
            f"{of.NESTED}test_what_comes_while_a_worker_is_being_replaced_waits",
            f"{of.FAULTS}start_faults.py::test_a_worker_killed_idle_costs_nothing",
        ),
    ),
    Complaint(
        "Turns of several callers run into each other and spoil the session.",
        (
            f"{of.WORK}test_many_callers_at_once_do_not_mix_up_the_session",
            f"{of.REQUESTS}test_prompts_run_one_at_a_time_in_order",
        ),
    ),
    Complaint(
        "A callback that raises ends the agent, and what was queued vanishes without a word.",
        (
            f"{of.CONTRACT}callbacks.py::test_a_failing_handle_response_ends_the_agent",
            f"{of.FAULTS}agent_ends.py::test_an_end_is_told_once",
        ),
        "An agent that can't decide does end; its callers hear AgentDown, its monitors one Down.",
    ),
)
"""Messages and turns that are lost, doubled or mixed up."""

GROWING = (
    Complaint(
        "Agents that have ended stay in memory, one for each run.",
        (
            f"{of.GROWTH}test_what_is_repeated_leaves_nothing",
            f"{of.GROWTH}test_what_is_repeated_for_long_costs_no_memory",
            f"{of.ACTORS}system.py::test_life_of_an_agent",
            f"{of.CORE}directory.py::test_ends_are_remembered_for_a_bounded_number",
        ),
    ),
    Complaint(
        "Results, or what waits to be written, pile up without a bound.",
        (
            f"{of.CORE}results.py::test_bounds_always_hold",
            f"{of.CORE}results.py::test_oldest_out_first",
            f"{of.ACTORS}agent_streams.py::test_a_stopped_recipient_costs_its_own_events_only",
            f"{of.TWO_WAY}test_a_million_events_for_a_stopped_recipient",
        ),
    ),
    Complaint(
        "Every client that came and went leaves an entry, a task or a runtime behind.",
        (
            f"{of.GROWTH}test_what_is_repeated_leaves_nothing",
            f"{of.DAYS}test_monitors_of_those_who_are_gone_do_not_pile_up",
            f"{of.ACTORS}attach.py::test_a_guest_takes_its_mailbox_along_and_nothing_else",
            f"{of.ACTORS}mailbox.py::test_the_mailbox_ends_with_its_script",
            f"{of.ACTORS}agent_parts.py::test_the_audience_is_bounded",
            f"{of.ACTORS}transport_lanes.py::test_dead_target",
        ),
    ),
    Complaint(
        "Many agents take more memory than there is, and then time out.",
        (f"{of.CROWD}test_two_hundred_agents_answer_once_each",),
    ),
    Complaint(
        "The queue of prompts has no bound, nothing can be taken out of it, and asking about it takes longer "
        "the longer it is.",
        (
            f"{of.CONTRACT}queues.py::test_prompts_and_notifications_have_a_queue_each",
            f"{of.REQUESTS}test_cancelling_case_by_case",
            f"{of.CORE}queues.py::test_cost_does_not_depend_on_length",
        ),
    ),
)
"""What grows without a bound."""

STREAMING = (
    Complaint(
        "What is called a stream arrives in one piece when everything is over.",
        (
            f"{of.WORK}test_an_event_is_there_before_its_turn_has_ended",
            "tests/backends/test_openai.py::test_text_arrives_while_the_server_still_writes",
        ),
    ),
    Complaint(
        "Reading the events a second time hangs.",
        (f"{of.WORK}test_a_stream_is_over_once_and_says_so_every_time",),
    ),
)
"""Events on their way."""

PICKLING = (
    Complaint(
        "A value that can't be pickled fails somewhere else, later, or wedges the queue.",
        (
            f"{of.FAULTS}hostile.py::test_what_can_not_be_pickled_enqueues_nothing",
            f"{of.ACTORS}system.py::test_what_can_not_be_pickled_is_told_in_the_caller",
            f"{of.CORE}turn_end.py::test_state_that_can_not_travel",
            f"{of.FAULTS}worker_faults.py::test_a_fault_of_the_worker_costs_one_turn",
            "tests/test_messages.py::test_unpicklable_values_raise_before_anything_is_sent",
        ),
    ),
)
"""Values between processes."""
