"""
One experiment with excitation and recorder as processes: ready, rehearsed, confirmed, played.

Whatever goes wrong on the way, the robot is at rest and the bag is closed when this returns.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from robident_ros.errors import ExperimentError
from robident_ros.experiment.session import FINISHED, HELD, IDLE
from robident_ros.ros.conductor import Conductor
from robident_ros.ros.players import TOPIC
from robident_ros.ros.processes import Processes

READY_S = 60.0  # s until the nodes have found the robot; the first time, code is compiled
PLAN_S = 120.0  # s to plan and check a motion
SLOWEST = 5  # times the planned duration that simulated time may take
MARGIN_S = 30.0  # s beyond the planned duration


@dataclass(frozen=True)
class Plan:
    """What is played on which robot, and how it is reached."""

    trajectory: Path
    urdf: str = ''
    config: str = ''
    controller: str = 'joint_trajectory_controller'
    interface: str = TOPIC
    joint_states_topic: str = '/joint_states'
    best_effort: bool = False
    periods: int = 0
    rate_hz: float = 0.0
    use_sim_time: bool = False

    def robot_parameters(self) -> dict[str, object]:
        """Return the parameters by which nodes find robot and joint states."""
        return {'urdf': self.urdf, 'config': self.config, 'best_effort': self.best_effort,
                'joint_states_topic': self.joint_states_topic,
                'use_sim_time': self.use_sim_time}


Tell = Callable[[dict[str, str]], None]


def perform(plan: Plan, bag: Path, processes: Processes, conductor: Conductor,
            confirm: Callable[[str], bool], tell: Tell = lambda status: None) -> None:
    """
    Play a trajectory and record it.

    :param confirm: shown what was planned; only if it says yes, anything moves.
    :param tell: told the status of the excitation node again and again.
    """
    try:
        _start_nodes(plan, bag, processes)
        _wait_until_ready(processes, conductor)
        success, message = conductor.ask('/excitation/rehearse', PLAN_S, processes.failure)
        if not success:
            raise ExperimentError(f'nothing was moved: {message}')
        if not confirm(message):
            raise ExperimentError('nothing was moved: it was not confirmed')
        success, message = conductor.ask('/excitation/start', PLAN_S, processes.failure)
        if not success:
            raise ExperimentError(f'nothing was moved: {message}')
        _wait_until_done(processes, conductor, tell)
    finally:  # also on Ctrl-C: the excitation node brings the robot to rest before it ends
        processes.stop('excitation')
        conductor.spin(0.5)  # let the recorder see the rest
        processes.stop('recorder')


def _start_nodes(plan: Plan, bag: Path, processes: Processes) -> None:
    controller = plan.controller
    processes.start('recorder', {
        'output': str(bag), 'joint_states_topic': plan.joint_states_topic,
        'best_effort': plan.best_effort, 'trajectory': str(plan.trajectory),
        'use_sim_time': plan.use_sim_time,
        'trajectory_controller': controller, 'position_controller': controller})
    processes.start('excitation', {
        **plan.robot_parameters(), 'trajectory': str(plan.trajectory), 'controller': controller,
        'interface': plan.interface, 'periods': plan.periods, 'rate_hz': plan.rate_hz,
        'recorder': 'recorder'})


def _wait_until_ready(processes: Processes, conductor: Conductor) -> None:
    conductor.statuses.clear()
    try:
        conductor.wait(lambda: conductor.status('excitation', 'state') == IDLE
                       and not conductor.status('excitation', 'waits for'), READY_S,
                       'the robot is not ready', processes.failure)
    except ExperimentError as error:
        waits = conductor.status('excitation', 'waits for')
        raise ExperimentError(f'{error}: {waits}' if waits else str(error)) from error


def _wait_until_done(processes: Processes, conductor: Conductor, tell: Tell) -> None:
    conductor.wait(lambda: conductor.status('excitation', 'state') not in (IDLE, ''), 10.0,
                   'the robot does not start', processes.failure)
    duration = float(conductor.status('excitation', 'duration'))

    def is_done() -> bool:
        tell(conductor.statuses)
        return conductor.status('excitation', 'state') in (FINISHED, HELD)
    conductor.wait(is_done, SLOWEST * duration + MARGIN_S, 'the robot does not finish',
                   processes.failure)
    if conductor.status('excitation', 'state') == HELD:
        raise ExperimentError(f'the robot was stopped and holds: '
                              f'{conductor.status("excitation", "reason")}')
