"""
The course of an experiment, in whatever clock: what is commanded now, and whether to go on.

A session is told the time and what was measured; it never waits. From idle it is started with a
measured state, plays its timeline under the watch of the envelope, and ends finished or, whatever
the reason, held at rest after a smooth stop along its own path.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil

import numpy as np
from robident_ros.config import ExperimentOptions
from robident_ros.errors import ExperimentError, SafetyStop
from robident_ros.excitation.trajectory import Trajectory
from robident_ros.experiment.feasibility import predict_effort
from robident_ros.experiment.motion import Motion, Played, Sample
from robident_ros.experiment.safety import Envelope, JointState, Monitor, SAFE, Verdict
from robident_ros.experiment.timeline import Interrupted, match_joints, plan_timeline, Timeline
from robident_ros.model.collision import CollisionModel
from robident_ros.model.robot import Robot

IDLE, PLAYING, STOPPING, HELD, FINISHED = 'idle', 'playing', 'stopping', 'held', 'finished'
AT_REST = 0.05  # rad/s or m/s that a resting robot may report
MOVED = 0.01  # rad or m between planning and start
CHECK_HZ = 100.0  # of commands that are checked again before the start


@dataclass(frozen=True)
class Progress:
    """Where a session is: ``period`` counts from 1 while periods are played."""

    state: str
    phase: str = ''
    period: int = 0
    periods: int = 0
    elapsed: float = 0.0
    duration: float = 0.0
    reason: str = ''


class Session:
    """One robot, one trajectory, any number of runs one after the other."""

    def __init__(self, robot: Robot, trajectory: Trajectory, options: ExperimentOptions) -> None:
        match_joints(trajectory.joint_names, robot.joint_names, 'trajectory')
        self.robot, self.trajectory, self.options = robot, trajectory, options
        self.envelope = Envelope(robot, options.envelope)
        self._collision = CollisionModel(robot.description, robot)
        rest = np.zeros((1, len(robot.joint_names)))
        predict_effort(robot, rest, rest, rest)  # compiled code is loaded before time matters
        self._monitor = Monitor(self.envelope)
        self.timeline: Timeline | None = None
        self.state, self.reason = IDLE, ''
        self._judged = 0.0  # time of the last judgement
        self.begin = 0.0  # time at which the timeline begins
        self.motion: Motion | None = None  # the timeline, or what is left of it

    @property
    def is_moving(self) -> bool:
        """Whether commands change, now or soon."""
        return self.state in (PLAYING, STOPPING)

    def plan(self, state: JointState, now: float) -> Timeline:
        """Check the measured state, plan from there, and check every command of the plan."""
        self.envelope.check(state, now).enforce()
        if state.v is not None:
            fastest = int(np.nanargmax(np.abs(state.v)))
            if abs(state.v[fastest]) > AT_REST:
                raise SafetyStop(self.robot.joint_names[fastest], float(state.v[fastest]), AT_REST,
                                 f'{self.robot.joint_names[fastest]} moves with '
                                 f'{state.v[fastest]:.3g}; wait until the robot rests')
        timeline = plan_timeline(self.trajectory, state.q, self.robot, self.options,
                                 self._collision)
        times = np.linspace(0, timeline.duration, ceil(timeline.duration * CHECK_HZ) + 1)
        for q, v in zip(*timeline.sample(times)[:2]):
            self.envelope.check_command(q, v).enforce()
        return timeline

    def start(self, timeline: Timeline, state: JointState, now: float, delay: float) -> None:
        """
        Begin to play a plan.

        :param state: measured just now; the robot must still be where the plan begins.
        :param delay: s until the first motion.
        """
        if self.is_moving:
            raise ExperimentError('the experiment runs already; stop it first')
        self.envelope.check(state, now).enforce()
        away = np.abs(state.q - timeline.sample(np.zeros(1))[0][0])
        joint = int(away.argmax())
        if not away[joint] <= MOVED:
            raise ExperimentError(f'{self.robot.joint_names[joint]} has moved by '
                                  f'{away[joint]:.3g} since the plan was made; start again')
        self.timeline, self.motion, self.begin = timeline, timeline, now + delay
        self._monitor, self._judged = Monitor(self.envelope), now
        self.state, self.reason = PLAYING, ''

    def update(self, states: Iterable[JointState], now: float) -> Verdict:
        """
        Judge what was measured since the last time; a bad verdict stops the motion.

        :param states: in the order of their stamps; the last known one where none is new.
        """
        verdict, states = SAFE, list(states)
        for state in states if self.state == PLAYING else ():
            # Only the newest tells how fresh they are: the others waited for us.
            self._judged = now if state is states[-1] else max(self._judged,
                                                               min(state.stamp, now))
            verdict = self._monitor.check(state, self._judged, self.command(state.stamp)[0])
            if not verdict.ok:
                self.stop(now, verdict.reason)
                break
        if self.is_moving and now - self.begin >= self.motion.duration:
            self.state = FINISHED if self.state == PLAYING else HELD
        return verdict

    def stop(self, now: float, reason: str) -> bool:
        """Come to rest along the path; tells whether there was a motion to stop."""
        if self.state != PLAYING:
            return False
        self.motion = self._interrupted(now)
        self.state, self.reason = STOPPING, reason
        return True

    def window(self, now: float, horizon: float) -> Motion:
        """
        Return the motion for whoever must do without us after ``horizon`` (s): it stops then.

        What ends before, or is stopping already, is returned as it is.
        """
        if self.state == PLAYING and now + horizon - self.begin < self.timeline.duration:
            return self._interrupted(now + horizon)
        return self.motion

    def fall_back(self, window: Motion, reason: str) -> None:
        """Take note that the robot stops by a window that it was given: nobody came in time."""
        self.motion, self.state = window, STOPPING
        self.reason = self.reason or reason

    def _interrupted(self, time: float) -> Interrupted:
        t = max(time - self.begin, 0.0)
        stop = self.timeline.stop(t, self.robot.limits, self.options.envelope.stop_s)
        return Interrupted(self.timeline, t, stop)

    def command(self, now: float) -> Sample:
        """Return commanded position, speed and acceleration, (n,) each."""
        q, v, a = (values[0] for values in self.motion.sample(np.array([now - self.begin])))
        return q, v, a

    def progress(self, now: float) -> Progress:
        """Say where the session is."""
        if self.timeline is None:
            return Progress(self.state, reason=self.reason)
        t = min(max(now - self.begin, 0.0), self.timeline.duration)
        phase, played = self.timeline.phase_at(t), self.timeline.phase('periods').motion
        periods = round(played.duration / self.trajectory.period)
        period = 0
        if isinstance(phase.motion, Played):
            period = min(int((t - phase.start) / self.trajectory.period) + 1, periods)
        return Progress(self.state, phase.name, period, periods, t, self.timeline.duration,
                        self.reason)
