"""Fixtures that several tests share."""

import json

import pytest
from shipped import SHARED


@pytest.fixture(scope='session')
def golden() -> dict:
    """Load the reference results, recomputed from the papers by independent code."""
    path = SHARED / 'golden' / 'golden.json'
    if not path.is_file():
        pytest.skip('the reference results (shared/golden) are not on this machine')
    return json.loads(path.read_text())
