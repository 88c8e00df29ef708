"""Complaints about work and agents that can't be ended, or don't stay ended."""

from __future__ import annotations

from tests import complaint as of
from tests.complaint import Complaint

CANCELLING = (
    Complaint(
        "Cancelling succeeds, yet the tool or browser that the turn had started runs on.",
        (
            f"{of.KILLS}test_interrupt_ends_all_a_worker_started",
            f"{of.FAULTS}worker_faults.py::test_a_fault_of_the_worker_costs_one_turn",
            f"{of.ACTORS}processes.py::test_kill_takes_a_stuck_worker_and_all_its_tools",
        ),
    ),
    Complaint(
        "Cancelling works in the first step and is ignored by the second and the third.",
        (f"{of.ENDING}test_each_turn_of_a_chain_can_be_interrupted",),
    ),
    Complaint(
        "After a generation was stopped the conversation is broken, and its user has to repair it.",
        (
            f"{of.KILLS}test_interrupt_ends_a_stuck_worker",
            f"{of.CORE}sessions.py::test_without_one_the_session_stays",
            "tests/backends/test_openai.py::test_a_failed_turn_leaves_no_trace_in_the_conversation",
        ),
    ),
    Complaint(
        "Who leaves the loop over the events leaves an agent that goes on acting, out of reach.",
        (
            f"{of.ACTORS}system.py::test_a_stream_closed_early_ends_exactly_its_request",
            f"{of.ENDING}test_a_loop_that_was_left_leaves_a_request_with_a_ref",
        ),
    ),
    Complaint(
        "The listener dies in the middle of a stream, and the agent hangs, or works for ever for nobody.",
        (
            f"{of.RECIPIENTS}test_a_recipient_that_dies_in_the_stream",
            f"{of.ACTORS}agent_ends.py::test_a_dead_callers_queued_ask_is_dropped",
            f"{of.FAULTS}script_ends.py::test_a_script_that_ends_takes_everything_along",
        ),
        "A turn whose listener is gone ends like any other, at its watchdog at the latest.",
    ),
    Complaint(
        "Cancelling at once loses the turn's outcome, and what it had told of its usage.",
        (
            f"{of.WORK}test_what_an_interrupted_turn_has_said_stays_said",
            f"{of.FAULTS}race.py::test_an_interrupt_and_the_end_of_a_turn",
        ),
    ),
    Complaint(
        "Every cancelled turn costs a descriptor, a connection or a worker, until none is left.",
        (
            f"{of.GROWTH}test_what_is_repeated_leaves_nothing",
            f"{of.GROWTH}test_what_is_repeated_for_long_costs_no_memory",
            f"{of.KILLS}test_nothing_is_left_of_many_kills",
            f"{of.DAYS}test_hundreds_of_watchdogs_wear_nothing_out",
        ),
    ),
    Complaint(
        "Whoever gives up waiting neither ends the work nor can reach it any more; nobody says which.",
        (
            f"{of.ACTORS}system.py::test_a_timed_out_ask_still_runs",
            f"{of.ENDING}test_an_ask_that_timed_out_is_still_in_reach",
            f"{of.FAULTS}start_faults.py::test_a_dead_callers_ask_is_dropped_and_others_are_not",
        ),
    ),
    Complaint(
        "A cancelled run goes on sending messages.",
        (
            f"{of.ACTORS}agent_streams.py::test_nothing_of_an_interrupted_turn_comes_later",
            f"{of.CONTRACT}turns.py::test_nothing_of_an_interrupted_turn_comes_later",
        ),
    ),
    Complaint(
        "Cancelling an agent that waits for another one leaves a loop that goes on.",
        (f"{of.NESTED}test_an_interrupt_of_the_outer_of_two_agents_ends_its_turn",),
        "The inner turn is a request of its own, which the outer one's interrupt leaves alone: it has a ref.",
    ),
    Complaint(
        "Cancelling from another process never reaches the work, whose next write still lands.",
        (f"{of.ENDING}test_an_interrupt_from_another_script_reaches_the_turn",),
    ),
    Complaint(
        "Work that sleeps, computes or waits in C code can't be cancelled at all.",
        (
            f"{of.KILLS}test_interrupt_ends_a_stuck_worker",
            f"{of.ACTORS}own_process.py::test_an_alarm_ends_c_code_that_holds_the_gil",
        ),
    ),
    Complaint(
        "A busy actor can only be ended together with its state.",
        (
            f"{of.WORK}test_a_killed_turn_leaves_the_state_it_was_given",
            f"{of.REQUESTS}test_an_interrupt_ends_the_turn_and_its_worker",
        ),
    ),
    Complaint(
        "Ending what has ended already hangs, loops, or says that it worked.",
        (
            f"{of.ENDING}test_answers_about_what_is_over_are_immediate_and_distinct",
            f"{of.ENDING}test_ending_what_has_ended_is_answered_at_once",
        ),
    ),
    Complaint(
        "What was terminated stays listed as running, and the call that terminates it hangs.",
        (
            f"{of.ACTORS}supervisor.py::test_stop_kills_what_takes_too_long",
            f"{of.ACTORS}supervisor.py::test_stop_waits_for_the_process",
            f"{of.ACTORS}system.py::test_life_of_an_agent",
        ),
    ),
    Complaint(
        "There is no way to wait until cancelled work has really stopped.",
        (
            f"{of.KILLS}test_interrupt_ends_a_stuck_worker",
            f"{of.ACTORS}agent_life.py::test_a_kill_is_done_before_anything_is_answered",
        ),
    ),
    Complaint(
        "An interrupt names no request, so that one which comes late hits the next turn.",
        (
            f"{of.FAULTS}race.py::test_an_interrupt_of_the_last_turn_spares_the_next",
            f"{of.REQUESTS}test_refs_are_for_one_request_of_one_agent",
        ),
    ),
    Complaint(
        "Whether a turn that was cut short keeps what its events did to the state is anybody's guess.",
        (
            f"{of.WORK}test_a_killed_turn_leaves_the_state_it_was_given",
            f"{of.CONTRACT}callbacks.py::test_what_one_decision_keeps_outlives_its_turn_only_if_it_returned",
            f"{of.CORE}turn.py::test_stream_state_after_each_ending",
        ),
    ),
    Complaint(
        "An interrupted turn begins in the telemetry and never ends there.",
        (
            f"{of.ENDING}test_every_start_of_a_turn_has_one_end",
            f"{of.CORE}telemetry.py::test_a_turn_cut_short_before_it_started",
            f"{of.CORE}telemetry.py::test_a_turn_cut_short_by_the_end",
        ),
    ),
)
"""Cancelling that does not stop, or stops too much."""

STUCK = (
    Complaint(
        "A backend that never answers hangs its agent for ever.",
        (
            f"{of.DAYS}test_the_default_watchdog_ends_what_never_answers",
            f"{of.KILLS}test_the_watchdog_kills",
            "tests/backends/test_openai.py::test_silence_is_a_timeout",
        ),
    ),
    Complaint(
        "A time limit is built in, and nobody can change it.",
        (
            "tests/test_options.py::test_none_is_no_limit",
            "tests/test_options.py::test_bad_times",
            "tests/test_options.py::test_zero_seconds",
            f"{of.CONTRACT}turns.py::test_a_turn_without_a_limit",
            f"{of.ENDING}test_a_single_request_can_have_a_limit_of_its_own",
        ),
    ),
    Complaint(
        "The second run on the same agent hangs.",
        (
            f"{of.ACTORS}worker_life.py::test_one_worker_serves_turn_after_turn",
            f"{of.GROWTH}test_what_is_repeated_for_long_costs_no_memory",
        ),
    ),
    Complaint(
        "An agent is shown as running for weeks, and nobody can see since when.",
        (
            f"{of.CORE}streams.py::test_elapsed_is_an_observation",
            f"{of.REQUESTS}test_an_agent_at_work_says_at_what",
        ),
    ),
    Complaint(
        "A pause, a resume or a change of the clock loses the time limit of what runs.",
        (
            f"{of.DAYS}test_a_watchdog_is_not_put_off_by_halts_and_resumes",
            f"{of.DAYS}test_no_limit_is_measured_by_the_time_of_day",
            f"{of.ENDING}test_a_watchdog_outlives_a_halt_and_a_resume",
            f"{of.KILLS}test_the_kernel_ends_a_turn_whose_agent_is_stuck",
        ),
    ),
    Complaint(
        "Blocking code can't be given a time limit, and there is none for a backend that falls silent.",
        (
            f"{of.KILLS}test_the_watchdog_kills",
            f"{of.KILLS}test_the_idle_watchdog_kills",
        ),
    ),
)
"""Agents that are stuck, and limits that don't hold."""

ENDING = (
    Complaint(
        "Killed children stay as zombies, and their parent does not notice.",
        (
            f"{of.ACTORS}supervisor.py::test_a_kill_is_told_as_killed",
            f"{of.ACTORS}transport_deathchain.py::test_killed_child_is_noticed",
            f"{of.ACTORS}processes.py::test_kill_takes_a_stuck_worker_and_all_its_tools",
            "tests/testing/test_leaks.py::test_a_zombie_of_ours_is_named",
        ),
        "Every test of this project fails that leaves a zombie.",
    ),
    Complaint(
        "A busy agent never gets to hear that it should stop.",
        (
            f"{of.ENDING}test_a_stop_in_the_middle_of_a_flood_is_prompt",
            f"{of.TWO_WAY}test_a_flooded_agent_stops",
        ),
    ),
    Complaint(
        "Processes of finished agents stay and pile up.",
        (
            f"{of.ACTORS}agent_ends.py::test_a_stop_closes_everything_in_order",
            f"{of.ACTORS}worker_life.py::test_a_worker_is_replaced_after_its_turns",
            f"{of.FAULTS}script_ends.py::test_a_script_that_ends_takes_everything_along",
            f"{of.FAULTS}killed_suite.py::test_a_killed_run_of_tests_leaves_nothing",
        ),
    ),
    Complaint(
        "A stop waits behind everything that is queued, and what comes after it is never answered.",
        (
            f"{of.REQUESTS}test_a_stop_answers_every_ask",
            f"{of.ENDING}test_ending_what_has_ended_is_answered_at_once",
        ),
    ),
    Complaint(
        "An agent that stops itself from within waits for itself for ever.",
        (
            f"{of.ENDING}test_a_callback_never_waits_for_its_own_end",
            f"{of.CONTRACT}ends.py::test_an_agent_does_not_stop_itself_but_others",
        ),
    ),
)
"""Ends that hang, and what stays after them."""
