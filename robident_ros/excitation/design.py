"""
Design of Fourier trajectories: many starts on all cores, the best ones refined, proven feasible.

Most of the budget explores from random starts; the promising ones are refined, the best one is
polished with what is left. Its limits are then verified between samples too; if that shows a
violation, it is designed again a little within the limits, and at last scaled down.
"""

from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import active_children, get_context
import os
import signal
import threading
import time
from typing import Callable

import numpy as np
from robident_ros.errors import ExcitationError, InfeasibleExcitation
from robident_ros.excitation.criteria import equilibrium, normalised, smooth
from robident_ros.excitation.fourier import FourierTrajectory
from robident_ros.excitation.optimise import Candidate, EXPLORE, find_start, improve, POLISH
from robident_ros.excitation.optimise import REFINE, Stage
from robident_ros.excitation.problem import Problem
from robident_ros.excitation.verify import Verification, verify
from robident_ros.model.regressor import torque_regressor
from robident_ros.model.robot import Robot

# Shares of the budget after which exploring, refining and polishing stop; the rest is for proof.
EXPLORED, REFINED, POLISHED = 0.33, 0.63, 0.79
SLACK = 0.003  # how far within the limits to stay from the beginning, for between the samples
ATTEMPTS = 4


@dataclass(frozen=True)
class Progress:
    """How far a design is; ``value`` is the smooth criterion, which is above the true one."""

    stage: str
    starts: int
    value: float
    violation: float
    cpu_seconds: float
    elapsed_seconds: float


Report = Callable[[Progress], None]


@dataclass(frozen=True, eq=False)
class Design:
    """
    A designed trajectory, with what is known of it.

    ``cond`` is of the regressor of the parameters to identify, on the samples of the planned
    experiment; ``scaled_cond`` the same with columns of length one. ``history`` has CPU seconds
    and the best value so far of the smooth criterion.
    """

    trajectory: FourierTrajectory
    parameters: tuple[str, ...]
    cond: float
    scaled_cond: float
    equilibrium: float
    verification: Verification
    cpu_seconds: float
    evaluations: int
    starts: int
    seed: int
    interrupted: bool
    history: tuple[tuple[float, float], ...] = field(default=())

    @property
    def feasible(self) -> bool:
        """Whether all limits are kept, proven."""
        return self.verification.feasible


def design_fourier(robot: Robot, seed: int = 0, budget_s: float | None = None,
                   report: Report | None = None, workers: int | None = None) -> Design:
    """
    Design the best Fourier trajectory that the budget allows; Ctrl-C ends with the best so far.

    The budget is time, so the same seed need not give the same design twice.

    :param budget_s: CPU seconds of all starts together; default: as configured.
    :param report: called with the progress whenever something has happened.
    """
    problem = Problem(robot)
    _load_kernel(problem)
    budget = robot.config.excitation.budget_s if budget_s is None else budget_s
    search = _Search(problem, seed, budget, report)
    try:
        search.run(workers or min(os.cpu_count() or 1, 8))
    except KeyboardInterrupt:
        search.interrupted = True
    with _undisturbed():
        return _conclude(robot, problem, search)


def _load_kernel(problem: Problem) -> None:
    """Compile and load what processes need, before they fork and before the clock starts."""
    x = np.full(len(problem.bounds), 0.1)
    problem.objective(x, smooth)
    problem.constraints(x, 1.0)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Do not let an impatient second Ctrl-C spoil the result."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def evaluate(robot: Robot, problem: Problem,
             trajectory: FourierTrajectory) -> tuple[float, float, float]:
    """Return cond, cond with columns of length one, and S, as the experiment will sample it."""
    count = max(int(round(trajectory.period * robot.config.excitation.rate_hz)), 1)
    t = np.arange(count) / count * trajectory.period
    W = problem.target.reduce(torque_regressor(robot, *trajectory.sample(t)))
    return (float(np.linalg.cond(W)), float(np.linalg.cond(normalised(W))),
            float(equilibrium(W)[0]))


class _Search:
    """The starts that are under way, and what they have found."""

    def __init__(self, problem: Problem, seed: int, budget: float, report: Report | None) -> None:
        self.problem, self.seed, self.budget = problem, seed, budget
        self.explored: list[Candidate] = []
        self.refined: list[Candidate] = []
        self.interrupted = False
        self.history: list[tuple[float, float]] = []
        self._report, self._begin, self._cpu = report, time.monotonic(), time.process_time()
        self._failure: InfeasibleExcitation | None = None

    @property
    def best(self) -> Candidate | None:
        """Return the best candidate so far."""
        return min(self.refined + self.explored, key=lambda found: found.rank, default=None)

    @property
    def spent(self) -> float:
        """CPU seconds of all processes."""
        return (sum(found.cpu_seconds for found in self.explored + self.refined)
                + time.process_time() - self._cpu)

    @property
    def evaluations(self) -> int:
        """Return how often the criterion was evaluated by all starts."""
        return sum(found.evaluations for found in self.explored + self.refined)

    def run(self, workers: int) -> None:
        """Explore, refine and polish until the budget is spent."""
        with _pool(workers, self.problem) as pool:
            try:
                self._explore(pool, workers)
                self._refine(pool, workers)
            except BrokenProcessPool as error:
                if self.best is None:
                    raise ExcitationError('a process of the design died, perhaps for want of '
                                          'memory; try again with fewer harmonics') from error
        left = POLISHED * self.budget - self.spent
        if left > 0 and self.best is not None:
            self._keep(self.refined, 'polish', _polish(self.problem, self.best, left))

    def _explore(self, pool: ProcessPoolExecutor, workers: int) -> None:
        limit = EXPLORED * self.budget
        tasks = (partial(pool.submit, _explore, [self.seed, start], limit)
                 for start in range(10**6))
        self._collect(tasks, workers, limit, self.explored, 'explore')
        if not self.explored:
            raise self._failure

    def _refine(self, pool: ProcessPoolExecutor, workers: int) -> None:
        ranked = sorted(self.explored, key=lambda found: found.rank)
        left = max(REFINED * self.budget - self.spent, 0.1 * self.budget)
        tasks = (partial(pool.submit, _refine, found.x, left) for found in ranked)
        self._collect(tasks, workers, REFINED * self.budget, self.refined, 'refine')

    def _collect(self, tasks, workers: int, limit: float, into: list, stage: str) -> None:
        """Keep all workers busy until the limit, counting what is under way as it was before."""
        under_way: set[Future] = set()
        typical = 0.0
        while True:
            expected = self.spent + typical * len(under_way)
            while len(under_way) < workers and (expected < limit or not (under_way or into)):
                task = next(tasks, None)
                if task is None:
                    break
                under_way.add(task())
                expected += typical
            if not under_way:
                return
            done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            for future in done:
                try:
                    self._keep(into, stage, future.result())
                except InfeasibleExcitation as error:
                    self._failure = error
                    if not into and not under_way:
                        return
            typical = np.mean([found.cpu_seconds for found in into]) if into else typical

    def _keep(self, into: list, stage: str, found: Candidate) -> None:
        into.append(found)
        best = self.best
        self.history.append((self.spent, best.value if best.violation <= 0 else np.inf))
        if self._report is not None:
            self._report(Progress(stage, len(self.explored), best.value, best.violation,
                                  self.spent, time.monotonic() - self._begin))


@contextmanager
def _pool(workers: int, problem: Problem) -> Iterator[ProcessPoolExecutor]:
    """Fork workers, and end them with whatever they are doing."""
    others = set(active_children())
    pool = ProcessPoolExecutor(workers, get_context('fork'), _prepare, (problem,))
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in set(active_children()) - others:
            worker.terminate()


_PROBLEM: list[Problem] = []  # of a worker process, which is forked for one problem


def _prepare(problem: Problem) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    _PROBLEM[:] = [problem]


def _explore(seed: list[int], cpu_limit: float) -> Candidate:
    start = find_start(_PROBLEM[0], np.random.default_rng(seed))
    return improve(_PROBLEM[0], start, EXPLORE, cpu_limit, SLACK)


def _refine(x: np.ndarray, cpu_limit: float) -> Candidate:
    return improve(_PROBLEM[0], x, REFINE, cpu_limit, SLACK)


def _polish(problem: Problem, best: Candidate, cpu_limit: float) -> Candidate:
    """Go on from the best as long as it helps."""
    return improve(problem, best.x, (POLISH[0], *_sharper(POLISH[0])), cpu_limit, SLACK)


def _sharper(stage: Stage) -> tuple[Stage, ...]:
    return (Stage(2 * stage.p, 2 * stage.sharpness, 2 * stage.iterations),)


def _conclude(robot: Robot, problem: Problem, search: _Search) -> Design:
    """Prove the best candidate, or else a first start, and describe it."""
    best = search.best
    x = find_start(problem, np.random.default_rng(search.seed)) if best is None else best.x
    x, verification = _prove(problem, x, (1 - POLISHED) * search.budget)
    trajectory = problem.trajectory(x)
    cond, scaled_cond, S = evaluate(robot, problem, trajectory)
    return Design(trajectory, problem.target.names, cond, scaled_cond, S, verification,
                  search.spent, search.evaluations, len(search.explored), search.seed,
                  search.interrupted, tuple(search.history))


def _prove(problem: Problem, x: np.ndarray, cpu_limit: float) -> tuple[np.ndarray, Verification]:
    """Return variables near x whose motion is proven feasible."""
    slack = SLACK
    for _ in range(ATTEMPTS):
        verification = verify(problem.trajectory(x), problem.robot, problem.families)
        if verification.feasible:
            return x, verification
        slack = slack + 1.5 * _missing(verification, problem)
        x = improve(problem, x, POLISH, cpu_limit / ATTEMPTS, slack).x
    return _shrink(problem, x)


def _missing(verification: Verification, problem: Problem) -> np.ndarray:
    """Return by how much each aggregate of constraints is violated, zero where it is not."""
    missing, margins = [], iter(verification.margins)
    for family in problem.families:
        rows = np.array([max(-next(margins).scaled, 0.0) for _ in family.names])
        missing.append(rows.max(keepdims=True) if family.together else rows)
    return np.concatenate(missing)


def _shrink(problem: Problem, x: np.ndarray) -> tuple[np.ndarray, Verification]:
    """Scale the motion down about its posture until it is proven feasible."""
    for scale in (0.99, 0.97, 0.94, 0.9, 0.8, 0.6, 0.3):
        coefficients = problem.coefficients(x)
        coefficients[:, 1:] *= scale
        trial = problem.variables(coefficients)
        verification = verify(problem.trajectory(trial), problem.robot, problem.families)
        if verification.feasible:
            return trial, verification
    worst = verification.worst
    raise InfeasibleExcitation(
        f'no motion was found that keeps the {worst.kind} limit ({worst.name}): the best one '
        f'exceeds it by {-worst.margin:.3g}{" " + worst.unit if worst.unit else " of it"}; '
        'widen the limit, or give more time (--budget)')
