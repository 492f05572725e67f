"""
Parameters of nodes: declared with description, type and range; bad ones refused with the reason.

Each node has one table of settings. Launch files and tests read the same tables.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rcl_interfaces.msg import SetParametersResult
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter
from robident_ros.errors import ConfigError, did_you_mean

# Parameters that every node has.
OF_ROS = ('use_sim_time', 'start_type_description_service', 'qos_overrides')
LARGEST = 1e9


@dataclass(frozen=True)
class Setting:
    """
    One parameter; its type is that of the default.

    ``live``: whether it may be changed while the node runs.
    """

    name: str
    default: bool | int | float | str | list
    description: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    live: bool = False

    def descriptor(self) -> ParameterDescriptor:
        """Return the setting as ROS describes it."""
        descriptor = ParameterDescriptor(name=self.name, description=self.description,
                                         read_only=not self.live)
        if self.choices:
            descriptor.additional_constraints = f'one of {", ".join(self.choices)}'
        if self.minimum is not None:
            highest = LARGEST if self.maximum is None else self.maximum
            if isinstance(self.default, float):
                descriptor.floating_point_range = [FloatingPointRange(
                    from_value=float(self.minimum), to_value=float(highest), step=0.0)]
            else:
                descriptor.integer_range = [IntegerRange(
                    from_value=int(self.minimum), to_value=int(highest), step=1)]
        return descriptor

    def check(self, value: Any) -> str:
        """Return why a value of the right type is refused, or nothing."""
        if self.choices and value not in self.choices:
            return f'is {value!r}, {did_you_mean(value, self.choices)}'
        return ''


def declare(node: Node, settings: Sequence[Setting]) -> SimpleNamespace:
    """Declare all settings and return their values; a bad or unknown one is a ConfigError."""
    known = [setting.name for setting in settings]
    for name in getattr(node, '_parameter_overrides', {}):
        if name not in known and not name.startswith(OF_ROS):
            raise ConfigError(f'parameter {name}: unknown, {did_you_mean(name, known)}')
    values = SimpleNamespace(**{setting.name: _declare(node, setting) for setting in settings})
    by_name = {setting.name: setting for setting in settings}

    def refuse_bad(parameters: list[Parameter]) -> SetParametersResult:
        for parameter in parameters:
            if parameter.name in by_name:
                reason = by_name[parameter.name].check(parameter.value)
                if reason:
                    return SetParametersResult(successful=False, reason=reason)
        for parameter in parameters:
            if parameter.name in by_name:
                setattr(values, parameter.name, parameter.value)
        return SetParametersResult(successful=True)
    node.add_on_set_parameters_callback(refuse_bad)
    return values


def _declare(node: Node, setting: Setting) -> Any:
    where = f'parameter {setting.name}'
    try:
        value = node.declare_parameter(setting.name, setting.default, setting.descriptor()).value
    except InvalidParameterTypeException as error:
        given = getattr(node, '_parameter_overrides', {}).get(setting.name)
        found = repr(given.value) if given is not None else str(error)
        hint = '; write it with a decimal point' if isinstance(setting.default, float) else ''
        raise ConfigError(f'{where}: is {found}, expected {_kind(setting.default)}'
                          f'{hint}') from error
    except InvalidParameterValueException as error:
        given = getattr(node, '_parameter_overrides', {}).get(setting.name)
        found = repr(given.value) if given is not None else str(error)
        highest = '' if setting.maximum is None else f' and at most {setting.maximum:g}'
        raise ConfigError(f'{where}: is {found}, expected at least {setting.minimum:g}'
                          f'{highest}') from error
    reason = setting.check(value)
    if reason:
        raise ConfigError(f'{where}: {reason}')
    return list(value) if isinstance(setting.default, list) else value


def _kind(default: Any) -> str:
    return {bool: 'true or false', int: 'a whole number', float: 'a number', str: 'a text',
            list: 'a list of texts'}[type(default)]
