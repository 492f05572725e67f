"""Results as pandas tables and CSV."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from robident_ros.estimation.estimate import Estimate
from robident_ros.files import write_atomically

if TYPE_CHECKING:
    import pandas as pd


def base_table(estimate: Estimate) -> 'pd.DataFrame':
    """One row per base parameter, in regressor column order."""
    import pandas as pd
    base = estimate.base
    essential = dict(zip(estimate.essential.names, estimate.essential.value))
    return pd.DataFrame(
        {'unit': base.units, 'apriori': base.apriori, 'base': base.value, 'std': base.std,
         'relative_std': base.relative_std, 'identified': base.identified,
         'essential': [essential.get(name, np.nan) for name in base.names],
         'relation': base.relations}, index=pd.Index(base.names, name='parameter'))


def standard_table(estimate: Estimate) -> 'pd.DataFrame':
    """One row per standard parameter, all sets side by side."""
    import pandas as pd
    standard = estimate.standard
    return pd.DataFrame(
        {'joint': standard.joints, 'unit': standard.units, 'apriori': standard.apriori,
         'closest': standard.closest, 'essential_closest': standard.essential_closest,
         'consistent': standard.consistent}, index=pd.Index(standard.names, name='parameter'))


def parameter_table(estimate: Estimate) -> 'pd.DataFrame':
    """Return standard parameters with the base parameters that they lead."""
    base = base_table(estimate).drop(columns=['unit', 'apriori'])
    return standard_table(estimate).join(base)


def fit_table(estimate: Estimate) -> 'pd.DataFrame':
    """One row per joint, and one for all: relative errors of all parameter sets."""
    import pandas as pd
    rows = {joint.joint: joint.relative_error for joint in estimate.joints}
    return pd.DataFrame({**rows, 'all': estimate.relative_error}).T.rename_axis('joint')


def link_table(estimate: Estimate) -> 'pd.DataFrame':
    """One row per link: masses, and which sets make a body of it."""
    import pandas as pd
    from dataclasses import asdict
    return pd.DataFrame([asdict(link) for link in estimate.links]).set_index('joint')


def write_parameters(estimate: Estimate, path: str | Path) -> None:
    """Write the table of all parameters as CSV, every number with all its digits."""
    with write_atomically(path) as file:
        parameter_table(estimate).to_csv(file, lineterminator='\n')
