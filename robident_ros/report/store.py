"""
Estimates in YAML files, which load back exactly.

Numbers are written with all their digits. The file begins with its schema, so that a newer or a
damaged file is refused with a reason.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, MISSING
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints, TypeVar, Union

import numpy as np
from robident_ros.config import read_yaml
from robident_ros.errors import ConfigError, EstimationError
from robident_ros.estimation.estimate import Estimate
from robident_ros.files import write_atomically
import yaml

SCHEMA = 'robident_estimate/1'

T = TypeVar('T')


def save_estimate(estimate: Estimate, path: str | Path) -> None:
    """Write an estimate."""
    data = {'schema': SCHEMA, **to_data(estimate)}
    with write_atomically(path) as file:
        yaml.dump(data, file, Dumper=getattr(yaml, 'CSafeDumper', yaml.SafeDumper),
                  sort_keys=False, allow_unicode=True, width=99)


def load_estimate(path: str | Path) -> Estimate:
    """Read an estimate."""
    try:
        data = read_yaml(path)
    except ConfigError as error:
        raise EstimationError(str(error)) from error
    schema = data.pop('schema', None)
    if schema != SCHEMA:
        newer = str(schema).startswith(SCHEMA.partition('/')[0])
        raise EstimationError(f'{path}: schema is {schema!r}, expected {SCHEMA!r}; '
                              + ('update robident_ros to read it' if newer else
                                 'give an estimate.yaml that robident identify wrote'))
    return from_data(Estimate, data, str(path))


def to_data(value: Any) -> Any:
    """Return dataclasses, arrays and tuples as plain mappings, lists and numbers."""
    if is_dataclass(value):
        return {item.name: to_data(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_data(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return [to_data(item) for item in value.tolist()]
    if isinstance(value, (tuple, list)):
        return [to_data(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def from_data(kind: Any, data: Any, where: str) -> Any:
    """Return the inverse of ``to_data``, checked against the types of the fields."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        if data is None and NoneType in arguments:
            return None
        return from_data(next(a for a in arguments if a is not NoneType), data, where)
    if is_dataclass(kind):
        return _build(kind, data, where)
    if kind is np.ndarray:
        return _array(data, where)
    if origin is tuple:
        _expect(isinstance(data, list), where, 'a list', data)
        return tuple(from_data(arguments[0], item, f'{where}[{i}]')
                     for i, item in enumerate(data))
    if origin is dict:
        _expect(isinstance(data, Mapping), where, '"name: value" lines', data)
        return {str(key): from_data(arguments[1], item, f'{where}: {key}')
                for key, item in data.items()}
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    plain = kind if isinstance(kind, type) else object
    _expect(isinstance(data, plain), where, plain.__name__, data)
    return data


def _build(kind: type[T], data: Any, where: str) -> T:
    _expect(isinstance(data, Mapping), where, 'a section', data)
    hints = get_type_hints(kind)
    for key in data:
        _expect(key in hints, f'{where}: {key}', 'a known key', key)
    missing = [item.name for item in fields(kind) if item.name not in data
               and item.default is MISSING and item.default_factory is MISSING]
    _expect(not missing, where, f'the key {", ".join(missing)}', 'nothing')
    return kind(**{key: from_data(hints[key], item, f'{where}: {key}')
                   for key, item in data.items()})


def _array(data: Any, where: str) -> np.ndarray:
    try:
        array = np.array(data, dtype=float)
    except (TypeError, ValueError):
        raise EstimationError(f'{where}: expected a list of numbers') from None
    array.setflags(write=False)
    return array


def _expect(condition: bool, where: str, expected: str, found: Any) -> None:
    if not condition:
        raise EstimationError(f'{where}: expected {expected}, found {str(found)[:60]!r}; the file '
                              'is damaged or was edited')
