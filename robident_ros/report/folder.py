"""The folder of a result: what identification writes, and validation reads."""

from pathlib import Path

import numpy as np
from robident_ros.config import load_config
from robident_ros.errors import EstimationError
from robident_ros.estimation.estimate import Estimate
from robident_ros.estimation.identify import Identification
from robident_ros.files import write_atomically
from robident_ros.model.robot import load_robot, Robot
from robident_ros.report.store import load_estimate, save_estimate
from robident_ros.report.tables import write_parameters
from robident_ros.report.urdf import write_identified

ESTIMATE, URDF, CONFIG = 'estimate.yaml', 'identified.urdf', 'config.yaml'
PARAMETERS, RESIDUALS = 'parameters.csv', 'residuals.npz'


def write_folder(result: Identification, folder: str | Path) -> list[str]:
    """Write everything about a result; the estimate comes last, when the rest is there."""
    folder = Path(folder)
    write_identified(result.robot, result.estimate.standard.consistent, folder / URDF,
                     folder / CONFIG)
    write_parameters(result.estimate, folder / PARAMETERS)
    residuals = result.residuals
    with write_atomically(folder / RESIDUALS, 'wb') as file:
        np.savez(file, joint_names=np.array(result.estimate.joint_names), t=residuals.t,
                 **{name: getattr(residuals, name).astype(np.float32) for name in
                    ('measured', 'apriori', 'base', 'consistent', 'weights')})
    save_estimate(result.estimate, folder / ESTIMATE)
    return [ESTIMATE, URDF, CONFIG, PARAMETERS, RESIDUALS]


def read_folder(path: str | Path) -> tuple[Robot, Estimate]:
    """
    Read the robot and the estimate of a folder.

    :param path: the folder, or the estimate.yaml in it.
    """
    path = Path(path)
    folder = path if path.is_dir() else path.parent
    estimate = load_estimate(folder / ESTIMATE if path.is_dir() else path)
    robot = load_robot(folder / URDF, load_config(folder / CONFIG))
    if robot.parameter_names != estimate.standard.names:
        raise EstimationError(f'{folder}: {URDF} and {CONFIG} have other parameters than '
                              f'{ESTIMATE}; keep the files of one result together')
    return robot, estimate
