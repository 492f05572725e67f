"""
Moves the robot: plays an exciting trajectory, watches the envelope, and stops on any doubt.

Nothing moves without ``~/start``, unless ``autostart`` is set. Whatever ends the motion early
(a stop request, a broken bound, joint states that cease, a controller that refuses, a recorder
that fails, a clock that jumps, the end of this node), the robot comes to rest along its path and
holds.
"""

from collections.abc import Sequence
from dataclasses import replace
import sys
from time import monotonic

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.clock import JumpThreshold
from rclpy.duration import Duration
from robident_ros.config import ExperimentOptions
from robident_ros.errors import ExperimentError, RobidentError
from robident_ros.excitation.trajectory import load_trajectory
from robident_ros.experiment.safety import JointState
from robident_ros.experiment.session import FINISHED, HELD, IDLE, PLAYING, Session, STOPPING
from robident_ros.experiment.timeline import Timeline
from robident_ros.ros.base_node import BaseNode, ERROR, OK, ROBOT_SETTINGS, run_node, WARN
from robident_ros.ros.messages import JointStates
from robident_ros.ros.parameters import Setting
from robident_ros.ros.players import ACTION, ActionPlayer, Player, STREAM, StreamPlayer, TOPIC
from robident_ros.ros.players import TopicPlayer
from std_srvs.srv import Trigger

SETTINGS = (
    *ROBOT_SETTINGS,
    Setting('trajectory', '', 'trajectory file that robident design wrote'),
    Setting('interface', TOPIC, 'how the controller is commanded: JointTrajectory topic, '
            'FollowJointTrajectory action, or streamed positions',
            choices=(TOPIC, ACTION, STREAM)),
    Setting('controller', 'joint_trajectory_controller', 'name of the controller'),
    Setting('command_joints', [''], 'order of the joints in streamed positions, that of the '
            'controller; if empty, that of the robot'),
    Setting('joint_states_topic', '/joint_states', 'measured states'),
    Setting('best_effort', False, 'subscribe as best effort, where joint states are published so'),
    Setting('periods', 0, 'how often the trajectory is played; 0: as configured', minimum=0,
            maximum=100000),
    Setting('rate_hz', 0.0, 'trajectory points or commands per second; 0: as configured',
            minimum=0.0, maximum=2000.0),
    Setting('start_delay_s', 1.0, 'time from start to the first motion; trajectories are stamped '
            'with it, so that both sides agree when they begin', minimum=0.1, maximum=60.0),
    Setting('horizon_s', 1.0, 'how far ahead trajectories reach that are sent by topic; if this '
            'node dies, the robot stops by itself after that', minimum=0.2, maximum=60.0),
    Setting('autostart', False, 'whether to start as soon as everything is ready'),
    Setting('recorder', '', 'name of a recorder node without which nothing moves; if empty, '
            'nobody need record'),
    Setting('recorder_timeout_s', 1.0, 'longest silence of the recorder', minimum=0.3,
            maximum=60.0),
)
WATCH_HZ = 100.0  # how often joint states are looked at, at least
REPORT_S = 0.2
PAUSE_S = 3.0  # s that a simulator may pause
JUMP_S = 1.0  # s that simulated time may advance at once


class ExcitationNode(BaseNode):
    """Plays a trajectory through a controller, within an envelope."""

    def __init__(self) -> None:
        super().__init__('excitation', SETTINGS)
        if not self.settings.trajectory:
            raise ExperimentError('parameter trajectory: is empty; name the trajectory file to '
                                  'play, made by robident design')
        config = self.load_config()
        robot = self.load_robot(config)
        self.options = self._options(config.experiment)
        self.session = Session(robot, load_trajectory(self.settings.trajectory), self.options)
        self.states = JointStates(self, self.settings.joint_states_topic, robot.joint_names,
                                  self.settings.best_effort)
        self.player = self._make_player()
        self._arrived = monotonic()
        self._recorder = (monotonic(), 'has not reported yet')
        self._shutting_down, self._told = '', IDLE
        self._autostart = self.settings.autostart
        self._is_simulated = self.get_parameter('use_sim_time').value
        self._connect()

    def now(self) -> float:
        """
        Return ROS time in s.

        Messages of a simulated clock may wait longer to be taken than the joint states do.
        """
        now, last = super().now(), self.states.last
        return max(now, last.stamp) if self._is_simulated and last is not None else now

    def _options(self, options: ExperimentOptions) -> ExperimentOptions:
        settings = self.settings
        return replace(options, periods=settings.periods or options.periods,
                       rate_hz=settings.rate_hz or options.rate_hz)

    def _make_player(self) -> Player:
        settings = self.settings
        if settings.interface == STREAM:
            joints = tuple(name for name in settings.command_joints if name)
            return StreamPlayer(self, settings.controller, self.session, joints)
        if settings.interface == ACTION:
            return ActionPlayer(self, settings.controller, self.session)
        return TopicPlayer(self, settings.controller, self.session, settings.horizon_s)

    def _connect(self) -> None:
        self.create_service(Trigger, '~/start', self._on_start)
        self.create_service(Trigger, '~/stop', self._on_stop)
        self.create_service(Trigger, '~/rehearse', self._on_rehearse)
        if self.settings.recorder:
            self.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 50)
        # Forward jumps are seen in the joint states: clock messages may wait, and then seem to.
        self._jumps = self.get_clock().create_jump_callback(
            JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1),
                          on_clock_change=True),
            post_callback=lambda jump: self._stop('the clock jumped'))
        self.every(1 / max(self.options.rate_hz, WATCH_HZ), self._tick)
        self.every(REPORT_S, self._report)

    def _tick(self) -> None:
        """Look, judge, command."""
        before = self.states.last
        states, now = self.states.take(), self.now()
        if states:
            self._arrived = monotonic()
        if self.session.state == PLAYING:
            reason = self._doubt() or _jump(before, states)
            if reason:
                self._stop(reason)
        state = self.session.state
        last = [self.states.last] if self.states.last else []
        self.session.update(states or last, now)
        if state == PLAYING and self.session.state == STOPPING:
            self.player.stop(now)
        if self.session.is_moving:
            self.player.tick(now)
        self._tell()
        if self._autostart and self._ready():
            self._autostart = False
            self._log(*self._start())
        if self._shutting_down and not self.session.is_moving:
            self._report()
            self.is_done = True

    def _doubt(self) -> str:
        """Return why to stop, apart from what joint states say."""
        silence, longest = monotonic() - self._arrived, self.options.envelope.staleness_s
        if self._is_simulated:  # a simulator may pause, and its clock with it
            longest = max(longest, PAUSE_S)
        if silence > longest:
            return f'no joint states for {silence:.2g} s, longer than {longest:g} s'
        return self.player.refusal or self.player.absence() or self._recorder_problem()

    def _recorder_problem(self) -> str:
        name = self.settings.recorder
        if not name:
            return ''
        heard, problem = self._recorder
        silence = monotonic() - heard
        if silence > self.settings.recorder_timeout_s:
            problem = problem or f'has been silent for {silence:.2g} s'
        return f'recorder {name!r} {problem}' if problem else ''

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == self.settings.recorder:
                bad = status.level == ERROR or status.message.startswith('waits')
                self._recorder = (monotonic(), f'says: {status.message}' if bad else '')

    def _ready(self) -> bool:
        return not (self.states.problem or self.player.absence() or self._recorder_problem())

    def _plan(self) -> tuple[Timeline, JointState]:
        """Plan from where the robot is now; raises with the reason why not."""
        self.states.take()
        reason = self.states.problem or self.player.absence() or self._recorder_problem()
        if reason:
            raise ExperimentError(reason)
        return self.session.plan(self.states.last, self.now()), self.states.last

    def _start(self) -> tuple[bool, str]:
        if self.session.is_moving or self._shutting_down:
            return False, 'the experiment runs already; stop it first'
        try:
            timeline, _ = self._plan()
            self.states.take()  # planning took its time: where is the robot now?
            now, delay = self.now(), self.settings.start_delay_s
            self.session.start(timeline, self.states.last, now, delay)
            self.player.begin(now)
            # Planning took its time, in which nobody was heard: count silence from now.
            self._arrived, self._recorder = monotonic(), (monotonic(), self._recorder[1])
        except RobidentError as error:
            return False, str(error)
        return True, (f'{timeline.duration:.1f} s: approach, {self.options.periods} periods of '
                      f'{self.session.trajectory.period:g} s, return')

    def _stop(self, reason: str) -> None:
        now = self.now()
        if self.session.stop(now, reason):
            self.player.stop(now)

    def _on_start(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success, response.message = self._start()
        self._log(response.success, response.message)
        return response

    def _on_stop(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._autostart = False
        self._stop('stop was requested')
        response.success = True
        response.message = 'stopping' if self.session.is_moving else 'nothing moves'
        return response

    def _on_rehearse(self, request: Trigger.Request,
                     response: Trigger.Response) -> Trigger.Response:
        try:
            if self.session.is_moving:
                raise ExperimentError('the experiment runs; rehearse before or after it')
            timeline, _ = self._plan()
            response.success = True
            response.message = '\n'.join([
                f'{timeline.duration:.1f} s; nearest to their limits:',
                *(f'{e.quantity} of {e.joint}: {e.value:.4g} {e.unit}, bound {e.bound:.4g} '
                  f'at {e.time:.2f} s ({e.phase})' for e in timeline.extremes)])
        except RobidentError as error:
            response.success, response.message = False, str(error)
        return response

    def _log(self, success: bool, message: str) -> None:
        if success:
            self.get_logger().info(message)
        else:
            self.get_logger().error(message)

    def _tell(self) -> None:
        """Log and report a change of state at once."""
        state = self.session.state
        if state != self._told:
            self._told = state
            bad = state in (STOPPING, HELD) and not self._shutting_down
            self._log(not bad, f'{state} {self.session.reason}'.strip())
            self._report()

    def _report(self) -> None:
        progress = self.session.progress(self.now())
        level = {STOPPING: ERROR, HELD: ERROR, FINISHED: OK, PLAYING: OK}.get(progress.state, OK)
        waiting = self.states.problem or self.player.absence() or self._recorder_problem()
        if progress.state == IDLE and waiting:
            level = WARN
        self.report(level, f'{progress.state} {progress.reason}'.strip(), {
            'state': progress.state, 'phase': progress.phase, 'period': progress.period,
            'periods': progress.periods, 'elapsed': progress.elapsed,
            'duration': progress.duration, 'reason': progress.reason, 'waits for': waiting,
            'joint states lost': self.states.inbox.lost})

    def on_failure(self) -> None:
        """Leave the robot at rest."""
        self._stop('the node failed')

    def request_shutdown(self, reason: str) -> None:
        """Bring the robot to rest, then end."""
        self._shutting_down = reason
        self._autostart = False
        self._stop(reason)
        self.is_done = not self.session.is_moving


def _jump(before: JointState | None, states: list[JointState]) -> str:
    """Return what is wrong with the time between joint states, or nothing."""
    stamps = [state.stamp for state in ([before] if before else []) + states]
    longest = max((late - early for early, late in zip(stamps, stamps[1:])), default=0.0)
    return f'the clock jumped by {longest:.3g} s' if longest > JUMP_S else ''


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run_node(ExcitationNode, args)


if __name__ == '__main__':
    sys.exit(main())
