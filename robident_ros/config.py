"""
The configuration: frozen option dataclasses, one per YAML section, read strictly.

Every key has a default, a description and, where it is a physical value, a unit. An unknown
key, a wrong type or a value out of range is a ConfigError that starts with the key's path.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, MISSING
from math import isfinite, pi
from pathlib import Path
import re
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints, TypeVar, Union

from robident_ros.errors import ConfigError, did_you_mean
import yaml

SCHEMA = 'robident_config/1'
DRIVE_TERMS = ('Ia', 'Fv', 'Fc', 'off')
# Factor from a unit of a foreign file to the one used here.
UNITS = {'s': 1.0, 'ms': 1e-3, 'us': 1e-6, 'ns': 1e-9, 'rad': 1.0, 'deg': pi / 180,
         'rev': 2 * pi, 'm': 1.0, 'mm': 1e-3, 'rad/s': 1.0, 'deg/s': pi / 180,
         'rpm': 2 * pi / 60, 'm/s': 1.0, 'mm/s': 1e-3, 'N·m': 1.0, 'Nm': 1.0, 'mNm': 1e-3,
         'kNm': 1e3, 'N': 1.0, 'A': 1.0, 'mA': 1e-3}

T = TypeVar('T')


def option(default: Any, description: str, unit: str = '', minimum: float | None = None,
           choices: tuple[str, ...] | None = None) -> Any:
    """Declare one configuration key; a callable default is called for each instance."""
    metadata = {'description': description, 'unit': unit, 'minimum': minimum, 'choices': choices}
    key = 'default_factory' if callable(default) else 'default'
    return field(**{key: default}, metadata=metadata)


@dataclass(frozen=True)
class LimitOptions:
    """Limits of one joint that replace those of the URDF (or fill in what it leaves out)."""

    lower: float | None = option(None, 'lowest position', 'rad or m')
    upper: float | None = option(None, 'highest position', 'rad or m')
    velocity: float | None = option(None, 'highest speed', 'rad/s or m/s', minimum=0)
    acceleration: float | None = option(None, 'highest acceleration', 'rad/s² or m/s²', minimum=0)
    effort: float | None = option(None, 'highest drive effort', 'N·m or N', minimum=0)


@dataclass(frozen=True)
class FollowerOptions:
    """A passive joint that follows others: its position is offset + Σ coefficient · q."""

    joints: Mapping[str, float] = option(dict, 'coefficient of each joint that is followed')
    offset: float = option(0.0, 'position where all followed joints are at zero', 'rad or m')


@dataclass(frozen=True)
class ModelOptions:
    """What of the URDF is the robot, and where it is mounted."""

    joints: tuple[str, ...] | None = option(
        None, 'joints that move (all others are locked); default: every movable joint')
    locked: Mapping[str, float] = option(
        dict, 'positions of locked joints; those not named are locked at zero', 'rad or m')
    followers: Mapping[str, FollowerOptions] = option(
        dict, 'passive joints as linear functions of others, in addition to <mimic> joints')
    gravity: tuple[float, ...] = option(
        (0.0, 0.0, -9.81), 'acceleration of gravity in the root frame', 'm/s²')
    limits: Mapping[str, LimitOptions] = option(dict, 'limits by joint name')
    zero: tuple[str, ...] = option(
        (), 'standard parameters known to be zero, e.g. by symmetry: XY2, MX3')


@dataclass(frozen=True)
class DriveOptions:
    """Rotor inertia, friction and offset of the drives, and what couples them."""

    terms: tuple[str, ...] = option(
        DRIVE_TERMS, 'drive terms in the model: rotor inertia, viscous and Coulomb friction, '
        'offset', choices=DRIVE_TERMS)
    coulomb_width: float = option(
        0.0, 'speed over which Coulomb friction rises, tanh(v / width); 0 is a sharp sign',
        'rad/s or m/s', minimum=0)
    couplings: Mapping[str, Mapping[str, float]] = option(
        dict, 'for a motor that turns with several joints: its speed on the joint side as '
        'coefficients of joint speeds, by the name of the joint it belongs to')
    rotor_inertia: Mapping[str, float] = option(
        dict, 'a-priori rotor inertia by joint, seen from the joint side; default 0',
        'kg·m² or kg')
    offset: Mapping[str, float] = option(
        dict, 'a-priori offset of the effort by joint; default 0', 'N·m or N')
    motor_damping: Mapping[str, float] = option(
        dict, 'a-priori viscous friction of coupled motors, on top of the damping of their '
        'joints in the URDF; default 0', 'N·m·s/rad or N·s/m')
    motor_friction: Mapping[str, float] = option(
        dict, 'a-priori Coulomb friction of coupled motors; default 0', 'N·m or N')
    gains: Mapping[str, float] = option(
        dict, 'drive gains by joint, effort = gain · measured current; default 1')


@dataclass(frozen=True)
class WorkspaceOptions:
    """Where one link of the robot must stay, in the root frame."""

    link: str | None = option(None, 'the link whose origin is watched; default: the last one')
    lower: tuple[float, ...] | None = option(None, 'lower corner of its box: x, y, z', 'm')
    upper: tuple[float, ...] | None = option(None, 'upper corner of its box: x, y, z', 'm')
    floor: float | None = option(None, 'lowest height', 'm')
    ceiling: float | None = option(None, 'greatest height', 'm')
    keep_out_radius: float | None = option(
        None, 'distance from the z axis to keep while below keep_out_height', 'm', minimum=0)
    keep_out_height: float | None = option(
        None, 'height from which on the keep-out cylinder does not matter', 'm')


@dataclass(frozen=True)
class ExcitationOptions:
    """What an exciting trajectory is made of, and how near to the limits it may go."""

    frequency_hz: float = option(0.1, 'fundamental frequency; the period is its inverse', 'Hz')
    harmonics: tuple[int, ...] = option((1, 2, 3, 4, 5), 'multiples of it that are excited')
    joint_harmonics: Mapping[str, tuple[int, ...]] = option(
        dict, 'other harmonics for some joints, by joint name')
    rate_hz: float = option(100.0, 'sampling rate of the experiment that is planned', 'Hz',
                            minimum=0.1)
    criterion: str = option('cond', 'what is minimised', choices=(
        'cond', 'qr', 'frobenius', 'smooth', 'logdet'))
    equilibrium_factor: float = option(
        0.0, 'weight of the equilibrium S beside the criterion', minimum=0)
    scale_columns: bool = option(
        False, 'whether parameters count relative to their a-priori size')
    noise: Mapping[str, float] = option(
        dict, 'standard deviation of the measured effort by joint; default: equal', 'N·m or N')
    parameters: Mapping[str, Mapping[str, float]] = option(
        dict, 'parameters to identify, as combinations of standard ones; default: base parameters')
    posture: Mapping[str, float] = option(
        dict, 'position about which a joint moves; default: chosen by the design', 'rad or m')
    position_fraction: float = option(0.95, 'share of the position range to use', minimum=0.001)
    velocity_fraction: float = option(0.9, 'share of the velocity limit to use', minimum=0.001)
    acceleration_fraction: float = option(
        1.0, 'share of the acceleration limit to use', minimum=0.001)
    effort_fraction: float = option(
        0.8, 'share of the effort limit to use, by the a-priori parameters', minimum=0.001)
    acceleration_time_s: float = option(
        0.5, 'where no acceleration limit is known: time to reach the velocity limit', 's',
        minimum=0.001)
    self_collision: bool = option(True, 'whether links must keep apart')
    clearance: float = option(0.02, 'distance that they keep', 'm', minimum=0)
    link_radius: float = option(
        0.06, 'radius of links whose collision shape is a mesh or missing', 'm', minimum=0.001)
    coulomb_width: float = option(
        0.05, 'width of Coulomb friction while optimising, where the model has a sharp sign',
        'rad/s or m/s', minimum=0.001)
    points: int | None = option(
        None, 'number of intervals of a polynomial trajectory; default: twice the parameters',
        minimum=2)
    budget_s: float = option(20.0, 'CPU time of all starts together', 's', minimum=0.1)


@dataclass(frozen=True)
class ChannelOptions:
    """Where one quantity stands in a foreign text file, and in what unit."""

    file: str | None = option(
        None, 'file it stands in, inside the folder that is read; default: the file that is read')
    columns: tuple[str, ...] | None = option(
        None, 'names of the columns in the header line, one per joint')
    first_column: int | None = option(
        None, 'number of the first of its columns, which stand side by side in the order of '
        'the joints; the first column of a file is 1. Default: all columns of the file', minimum=1)
    one_per_line: bool = option(
        False, 'whether the file has one number per line: all joints of the first sample, then '
        'those of the second, and so on')
    unit: str | None = option(
        None, 'unit of the numbers; default: s, rad (or m), rad/s, N·m', choices=tuple(UNITS))
    scale: float = option(1.0, 'factor on the numbers, e.g. radians per encoder count')
    side: str = option(
        'motor', 'whether it was measured on the motor side of the reduction or on the joint side',
        choices=('motor', 'joint'))


@dataclass(frozen=True)
class RecordingOptions:
    """What to read from a recording; the rest describes text files of foreign layout."""

    topic: str = option('/joint_states', 'topic of the joint states in a bag')
    rename: Mapping[str, str] = option(
        dict, "joint names of the recording that differ from the robot's: recorded: own")
    joints: tuple[str, ...] = option(
        (), 'for a foreign file: joint names, in the order of the columns')
    rate_hz: float | None = option(
        None, 'for a foreign file without time: samples per second', 'Hz', minimum=0)
    time: ChannelOptions | None = option(None, 'for a foreign file: the time')
    position: ChannelOptions | None = option(None, 'for a foreign file: the positions')
    velocity: ChannelOptions | None = option(None, 'for a foreign file: the velocities')
    effort: ChannelOptions | None = option(None, 'for a foreign file: efforts or currents')
    reduction: Mapping[str, Mapping[str, float]] = option(
        dict, 'for motors behind gears: the position of each motor as gear ratios of the joints '
        'that turn it, q_motor = R·q; efforts go the other way, τ = Rᵀ·τ_motor. A motor is '
        'called by its joint; those not named turn one to one')
    position_offset: Mapping[str, float] = option(
        dict, 'added to joint positions, to reach the zero of the robot description', 'rad or m')


@dataclass(frozen=True)
class ProcessingOptions:
    """How a recording becomes samples."""

    start_s: float | None = option(None, 'leave out what lies before this time', 's')
    stop_s: float | None = option(None, 'leave out what lies behind this time', 's')
    average_periods: bool = option(
        True, 'whether to average over periods where the motion repeats itself')
    period_s: float | None = option(
        None, 'length of a period; default: found in the data', 's', minimum=0)
    harmonics: int | None = option(
        None, 'highest harmonic of the positions of a periodic motion; default: the highest '
        'that stands out of the noise', minimum=1)
    cutoff_hz: float | None = option(
        None, 'cutoff of the low-pass filter on both sides of τ = W·χ; default: the frequency '
        'up to which the motion stands out of its noise', 'Hz', minimum=0)
    decimation: int | None = option(
        None, 'keep every such row behind the filter; default: as many as it leaves '
        'independent, 0.4 · rate / cutoff', minimum=1)
    min_speed: float | None = option(
        None, 'samples of a joint slower than this are dropped, as the direction of friction is '
        'in doubt; default: three standard deviations of the velocity noise, at least 1 % of the '
        'highest speed', 'rad/s or m/s', minimum=0)
    effort_limits: Mapping[str, float] = option(
        dict, 'efforts at or above which a joint is saturated and its samples are dropped; '
        'default: where the highest value recurs exactly, as clipping makes it', 'N·m or N')
    gap_s: float | None = option(
        None, 'a pause between samples longer than this is a gap, which is not bridged; default: '
        'a quarter of the period of the cutoff frequency, at least three sampling steps', 's',
        minimum=0)


@dataclass(frozen=True)
class EstimatorOptions:
    """How samples become parameters."""

    weighting: str = option(
        'residual', 'weights of the joints: none, the residual of each joint by itself, or the '
        'measured noise, with its correlation between joints where periods were averaged '
        '(maximum likelihood where it is white)',
        choices=('none', 'residual', 'noise'))
    coulomb: str = option(
        'auto', 'Coulomb friction: a sharp sign, a smooth rise, or whichever predicts unseen '
        'parts of the recording better; the width of the rise is drives: coulomb_width, or '
        'chosen likewise', choices=('sign', 'smooth', 'auto'))
    robust: bool = option(False, 'whether to give outliers among the samples less weight')
    essential_std: float = option(
        10.0, 'parameters less certain than this are candidates for removal', '%', minimum=0)
    essential_level: float = option(
        0.05, 'significance at which a removal is refused by the F-test', minimum=0)
    essential_loss: float = option(
        0.03, 'how much larger the residual may become, as a share, by all removals', minimum=0)
    prior_budget: float = option(
        0.005, 'how much larger the residual may become, as a share, for the sake of staying '
        'near the links of the URDF', minimum=0)
    prior_weight: float | None = option(
        None, 'weight of the URDF in the consistent estimate; default: the largest within '
        'prior_budget', minimum=0)
    mass_bounds: tuple[float, ...] | None = option(
        (0.2, 5.0), 'least and largest mass of a link, as multiples of its mass in the URDF; '
        'given up where the data plainly contradict it')
    com_bound: float | None = option(
        None, 'largest coordinate of a centre of mass in its joint frame', 'm', minimum=0)
    segments: int = option(10, 'parts of the recording for cross-validation', minimum=2)


@dataclass(frozen=True)
class EnvelopeOptions:
    """What the measured state may do before the experiment stops."""

    position_tolerance: float = option(
        0.01, 'how far a measured position may lie beyond its limits', 'rad or m', minimum=0)
    velocity_factor: float = option(
        1.1, 'highest measured speed as a multiple of the speed limit', minimum=0)
    effort_factor: float = option(
        1.0, 'highest measured effort as a multiple of the effort limit', minimum=0)
    tracking_error: float = option(
        0.1, 'largest distance between measured and commanded position', 'rad or m', minimum=0)
    staleness_s: float = option(
        0.1, 'longest time without a new joint state', 's', minimum=0.001)
    frozen_s: float = option(
        0.25, 'longest time that positions may stand still while the command moves', 's',
        minimum=0.001)
    frozen_motion: float = option(
        0.005, 'how far the command must have moved in that time', 'rad or m', minimum=0)
    stop_s: float = option(0.3, 'shortest duration of a stop', 's', minimum=0.001)


@dataclass(frozen=True)
class ExperimentOptions:
    """How the trajectory is played, and what stops it."""

    periods: int = option(
        5, 'how often a periodic trajectory is played; others are played once', minimum=1)
    rate_hz: float = option(100.0, 'rate of the trajectory points or commands', 'Hz', minimum=1)
    ramp_s: float | None = option(
        None, 'duration of ramping in and out; default: half a period, and twice or four times '
        'that where the limits demand it', 's', minimum=0.1)
    approach_s: float = option(
        1.0, 'shortest duration of the approach and the return', 's', minimum=0.1)
    approach_fraction: float = option(
        0.25, 'speed and acceleration of the approach and the return as a fraction of the limits',
        minimum=0.001)
    approach_velocity: float = option(
        0.5, 'highest speed of the approach and the return', 'rad/s or m/s', minimum=0.001)
    approach_acceleration: float = option(
        1.0, 'highest acceleration of the approach and the return', 'rad/s² or m/s²',
        minimum=0.001)
    return_to_start: bool = option(
        True, 'whether to return to where the robot was; otherwise it holds at the end')
    clearance: float = option(
        0.01, 'smallest distance between links that are not neighbours', 'm', minimum=0)
    envelope: EnvelopeOptions = option(EnvelopeOptions, 'what stops the experiment')


@dataclass(frozen=True)
class SimulationOptions:
    """The embedded robot: how it differs from its model, its controller and its sensors."""

    step_s: float = option(0.001, 'step of integration and control', 's', minimum=1e-5)
    seed: int = option(0, 'seed of the true parameters and of the noise', minimum=0)
    spread: float = option(
        0.2, 'relative spread of the true parameters about those of the model', minimum=0)
    rotor_inertia: Mapping[str, float] = option(
        dict, 'true rotor inertia by joint; default: that of the model', 'kg·m² or kg')
    viscous: Mapping[str, float] = option(
        dict, 'true viscous friction by joint; default: that of the model',
        'N·m·s/rad or N·s/m')
    coulomb: Mapping[str, float] = option(
        dict, 'true Coulomb friction by joint; default: that of the model', 'N·m or N')
    offset: Mapping[str, float] = option(dict, 'true offset by joint; default 0', 'N·m or N')
    coulomb_width: float | None = option(
        None, 'speed over which true Coulomb friction rises; default: that of the drives',
        'rad/s or m/s', minimum=0)
    position_resolution: float = option(
        1e-5, 'resolution of the encoders; 0 is exact', 'rad or m', minimum=0)
    velocity_noise: float = option(
        1e-3, 'standard deviation of measured speeds', 'rad/s or m/s', minimum=0)
    effort_noise: float = option(
        0.005, 'standard deviation of measured efforts as a fraction of the effort limit; '
        'joints without a limit have no noise', minimum=0)
    bandwidth_hz: float = option(10.0, 'bandwidth of the controller', 'Hz', minimum=0.1)
    deadline_s: float = option(
        0.1, 'time without a streamed command after which the robot holds', 's', minimum=0.001)


@dataclass(frozen=True)
class Config:
    """All sections of a configuration file."""

    model: ModelOptions = option(ModelOptions, 'the robot')
    drives: DriveOptions = option(DriveOptions, 'its drives')
    workspace: WorkspaceOptions = option(WorkspaceOptions, 'where the tool must stay')
    excitation: ExcitationOptions = option(ExcitationOptions, 'the exciting trajectory')
    recording: RecordingOptions = option(RecordingOptions, 'where measured data stand')
    processing: ProcessingOptions = option(ProcessingOptions, 'how they become samples')
    estimation: EstimatorOptions = option(EstimatorOptions, 'how parameters are estimated')
    experiment: ExperimentOptions = option(ExperimentOptions, 'playing the trajectory')
    simulation: SimulationOptions = option(SimulationOptions, 'the embedded robot')


def load_config(path: str | Path | None) -> Config:
    """Read a configuration file; without one, everything is at its default."""
    if path is None:
        return Config()
    data = read_yaml(path)
    schema = data.pop('schema', None)
    if schema != SCHEMA:
        raise ConfigError(f'{path}: schema is {schema!r}, expected {SCHEMA!r}; '
                          f'start the file with "schema: {SCHEMA}"')
    return build(Config, data, str(path))


def dump_config(config: Config) -> str:
    """Write a configuration as YAML that ``load_config`` reads back."""
    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: plain(item) for key, item in value.items()}
        return [plain(item) for item in value] if isinstance(value, (tuple, list)) else value
    return yaml.safe_dump({'schema': SCHEMA, **plain(asdict(config))}, sort_keys=False)


class _StrictLoader(yaml.SafeLoader):
    """
    SafeLoader that refuses a key written twice, which YAML would silently overwrite.

    Only true and false are truth values, as in YAML 1.2: ``off`` is the name of a parameter.
    """

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(':bool')]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()}

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        keys = [key.value for key, _ in node.value]
        for key in {key for key in keys if keys.count(key) > 1}:
            raise yaml.constructor.ConstructorError(
                None, None, f'key {key!r} stands twice', node.start_mark)
        return super().construct_mapping(node, deep)


_StrictLoader.add_implicit_resolver(
    'tag:yaml.org,2002:bool', re.compile('^(?:true|True|TRUE|false|False|FALSE)$'), list('tTfF'))


def read_yaml(path: str | Path) -> dict:
    """Read a YAML file whose top level is a mapping."""
    try:
        data = yaml.load(Path(path).read_text(encoding='utf-8'), Loader=_StrictLoader)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, 'strerror', None) or 'is not a text file'
        raise ConfigError(f'{path}: cannot be read: {reason}') from error
    except yaml.YAMLError as error:
        raise ConfigError(f'{path}: is not valid YAML: {" ".join(str(error).split())}') from error
    if not isinstance(data, dict):
        raise ConfigError(f'{path}: expected "key: value" lines at the top level')
    return data


def build(cls: type[T], data: Any, where: str) -> T:
    """Make a configuration dataclass from YAML data, refusing keys it does not have."""
    if data is None:
        data = {}
    if not isinstance(data, Mapping):
        raise ConfigError(f'{where}: expected a section with keys, found {data!r}')
    hints = get_type_hints(cls)
    for key in data:
        if key not in hints:
            raise ConfigError(f'{where}: {key}: unknown key, {did_you_mean(key, hints)}')
    values = {}
    for item in fields(cls):
        if item.name in data:
            path = f'{where}: {item.name}'
            values[item.name] = _convert(hints[item.name], data[item.name], path)
            _check_range(values[item.name], item.metadata, path)
        elif item.default is MISSING and item.default_factory is MISSING:
            raise ConfigError(f'{where}: {item.name}: is missing')
    return cls(**values)


def _convert(kind: Any, value: Any, where: str) -> Any:
    """Convert one YAML value to the annotated type of its field."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        if value is None and NoneType in arguments:
            return None
        return _convert(next(a for a in arguments if a is not NoneType), value, where)
    if is_dataclass(kind):
        return build(kind, value, where)
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            raise ConfigError(f'{where}: expected a list [a, b, …], found {value!r}')
        return tuple(_convert(arguments[0], item, f'{where}[{i}]') for i, item in enumerate(value))
    if origin is Mapping:
        if not isinstance(value, Mapping):
            raise ConfigError(f'{where}: expected a section of "name: value", found {value!r}')
        return {str(key): _convert(arguments[1], item, f'{where}: {key}')
                for key, item in value.items()}
    return _convert_scalar(kind, value, where)


def _convert_scalar(kind: type, value: Any, where: str) -> Any:
    expected = {float: 'a finite number', int: 'a whole number', bool: 'true or false',
                str: 'a text'}[kind]
    if kind is float and not isinstance(value, bool):
        try:
            value = float(value)  # YAML 1.1 reads 1e-3 as a text
        except (TypeError, ValueError):
            value = None
        if value is not None and isfinite(value):
            return value
    elif isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
        return value
    raise ConfigError(f'{where}: expected {expected}, found {value!r}')


def _check_range(value: Any, metadata: Mapping, where: str) -> None:
    minimum, choices = metadata.get('minimum'), metadata.get('choices')
    if minimum is not None and value is not None and value < minimum:
        raise ConfigError(f'{where}: is {value}, expected at least {minimum}')
    if choices is not None and value is not None:
        for item in value if isinstance(value, tuple) else (value,):
            if item not in choices:
                raise ConfigError(f'{where}: unknown {item!r}, {did_you_mean(item, choices)}')
