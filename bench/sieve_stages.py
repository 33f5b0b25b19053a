"""Where the time of a sparse decode step goes, stage by stage, and how near each stage is to its limit."""

import harness
import numpy as np
import sieve_data
from sieve_probe import StageCost, Step

BUDGET = "mass:0.05"


def step_stages(machine, probe, options, family, shape, n):
    """One entry per stage and number of threads; medians over the steps."""
    inputs = sieve_data.FAMILIES[family](shape, n)
    for threads in options.threads:
        machine.unpin()
        step = Step(probe, shape, *inputs.kv["bf16"], BUDGET, threads)
        step.set_q(inputs.q[-1])
        step.run()
        machine.pin(threads)
        harness.interleave(
            machine,
            [step],
            options.repeats,
            seed=n,
            before=lambda contender, repeat: contender.set_q(inputs.q[repeat % len(inputs.q)]),
            after=lambda contender, repeat: contender.record(),
        )
        costs = np.stack(step.recorded)
        for i, stage in enumerate(probe.stages):
            entry = {"data": family, "shape": str(shape), "n": n, "threads": threads, "stage": stage}
            entry |= {name: float(np.median(costs[name][:, i])) for name, _ in StageCost._fields_}
            # A stage's share of the time of all, step by step.
            share = costs["seconds"][:, i] / costs["seconds"].sum(axis=1)
            yield {**entry, "budget": BUDGET, "share_of_step": float(np.median(share))}


def add_limits(entries, bandwidth, arithmetic):
    """The least time that a stage's bytes and multiply-adds take on this machine, and its share of the
    time taken. A stage that neither reads the index nor multiplies has none."""
    for entry in entries:
        rates = arithmetic[entry["threads"]]
        reading = entry["bytes"] / bandwidth[entry["threads"]]
        adding = sum(
            entry[name] / rates[kind]
            for name, kind in (("integer", "i16"), ("floating", "f32"))
            if rates[kind] > 0
        )
        entry["limit_seconds"] = max(reading, adding)
        entry["limited_by"] = "arithmetic" if adding > reading else "reading" if reading > 0 else ""
    return entries
