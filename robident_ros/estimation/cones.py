"""
The convex programme of consistent estimation, in the form that Clarabel solves.

Each link has a whitened pseudo-inertia P̃ = L⁻¹·P·L⁻ᵀ, where P₀ = L·Lᵀ is that of the a-priori
link: the identity means "as the URDF says", whatever the link's size. Minimised is

    ½‖B·x − y‖² + λ Σ_links (tr P̃ − log det P̃)

over P̃ ≻ 0 and linear inequalities. The bracket is the log-det (entropic) divergence from the
a-priori link, up to a constant. A log-det is expressed with a triangular Z through
[[P̃, Z], [Zᵀ, diag Z]] ⪰ 0 and log det P̃ ≥ Σ log Z_kk, four exponential cones.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from robident_ros.errors import SolverFailed

ROOT2 = np.sqrt(2)
# Entries of a symmetric 4×4 matrix, column by column, as LAPACK and Clarabel order them.
UPPER = tuple((i, j) for j in range(4) for i in range(j + 1))
FAR = 20.0  # factor between the data and the a-priori links from which variables are scaled
SOLVED = ('Solved', 'AlmostSolved')


def to_vector(P: np.ndarray) -> np.ndarray:
    """Return the ten entries of a symmetric 4×4 matrix."""
    return np.array([P[i, j] for i, j in UPPER])


def to_matrix(u: np.ndarray) -> np.ndarray:
    """Return the symmetric 4×4 matrix of ten entries."""
    P = np.empty((4, 4))
    for value, (i, j) in zip(u, UPPER):
        P[i, j] = P[j, i] = value
    return P


@dataclass(frozen=True, eq=False)
class ConeProgramme:
    """
    Least squares in x = (ten entries of P̃ for each link, other parameters).

    :param B: (m, 10·links + others); ``y`` (m,).
    :param G: inequalities G·x ≥ h.
    :param E: equations E·x = 0.
    :param slope: factor of tr P̃ in the prior.
    """

    B: np.ndarray
    y: np.ndarray
    links: int
    G: np.ndarray
    h: np.ndarray
    E: np.ndarray
    slope: float = 1.0

    def solve(self, weight: float) -> np.ndarray:
        """Return the x of least cost for a weight λ of the prior; 0 leaves only P̃ ⪰ 0."""
        import clarabel
        from scipy import sparse
        if (size := self._size) != 1:  # solve in x / size, which is near one
            scaled = replace(self, B=self.B * size, h=self.h / size, slope=self.slope * size)
            return size * scaled.solve(weight)
        lifted = weight > 0
        x, extra = self.B.shape[1], 14 * self.links if lifted else 0
        # The cost is scaled to one at x = 0, so that the solver's tolerances mean the same.
        scale = max(float(self.y @ self.y), np.finfo(float).tiny)
        P = sparse.block_diag([sparse.csc_matrix(np.triu(self.B.T @ self.B) / scale),
                               sparse.csc_matrix((extra, extra))], format='csc')
        q = np.concatenate([-self.B.T @ self.y, np.zeros(extra)])
        if lifted:
            q[:x] += weight * self.slope * self._trace
            q[x:].reshape(self.links, 14)[:, 10:] = -weight
        A, b, cones = self._lifted if lifted else self._bare
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
        settings.max_threads = 1
        solution = clarabel.DefaultSolver(P, q / scale, A, b, cones, settings).solve()
        if str(solution.status) not in SOLVED:
            raise SolverFailed(f'Clarabel stopped with {solution.status} on the consistent '
                               'estimate; look for absurd values in the URDF or the recording')
        return np.array(solution.x[:x])

    @cached_property
    def _size(self) -> float:
        """
        Return how many times the a-priori links explain the data, 1 where it is about once.

        Efforts in another unit make bodies a thousand times as heavy, which no solver likes.
        """
        norm = float(np.linalg.norm(self.B @ self._trace))
        size = float(np.linalg.norm(self.y)) / norm if norm > 0 else 1.0
        return size if size > FAR or 0 < size < 1 / FAR else 1.0

    @cached_property
    def _trace(self) -> np.ndarray:
        trace = np.zeros(self.B.shape[1])
        for link in range(self.links):
            trace[[10 * link + UPPER.index((k, k)) for k in range(4)]] = 1
        return trace

    @cached_property
    def _linear(self) -> tuple:
        """Equations and inequalities: matrix, right side, cones."""
        import clarabel
        return (np.vstack([-self.E, -self.G]), [np.zeros(len(self.E)), -self.h],
                [clarabel.ZeroConeT(len(self.E)), clarabel.NonnegativeConeT(len(self.h))])

    @cached_property
    def _bare(self) -> tuple:
        """Clarabel's A, b and cones for P̃ ⪰ 0: b − A·x lies in the cones."""
        import clarabel
        from scipy import sparse
        linear, b, cones = self._linear
        block = np.diag([1.0 if i == j else ROOT2 for i, j in UPPER])
        A = sparse.vstack([sparse.csc_matrix(linear), self._every_link(-block)], format='csc')
        return (A, np.concatenate([*b, np.zeros(10 * self.links)]),
                cones + [clarabel.PSDTriangleConeT(4)] * self.links)

    @cached_property
    def _lifted(self) -> tuple:
        """Return the same with Z and t behind x, for the log-det."""
        import clarabel
        from scipy import sparse
        linear, b, cones = self._linear
        links = sparse.identity(self.links)
        semidefinite, exponential, ones = _lifted_blocks()
        rows = [sparse.hstack([sparse.csc_matrix(linear),
                               sparse.csc_matrix((len(linear), 14 * self.links))])]
        rows += [sparse.hstack([self._every_link(-block[:, :10]),
                                sparse.kron(links, -block[:, 10:])])
                 for block in (semidefinite, exponential)]
        right = np.concatenate([*b, np.zeros(36 * self.links), np.tile(ones, self.links)])
        return (sparse.vstack(rows, format='csc'), right,
                cones + [clarabel.PSDTriangleConeT(8)] * self.links
                + [clarabel.ExponentialConeT()] * (4 * self.links))

    def _every_link(self, block: np.ndarray):
        from scipy import sparse
        others = self.B.shape[1] - 10 * self.links
        return sparse.hstack([sparse.kron(sparse.identity(self.links), block),
                              sparse.csc_matrix((len(block) * self.links, others))])


def _lifted_blocks() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return one link's cone rows in (P̃ ten, Z ten, t four).

    The 8×8 matrix [[P̃, Z], [Zᵀ, diag Z]] with Z lower triangular, and (t_k, 1, Z_kk) in the
    exponential cone.
    """
    semidefinite = np.zeros((36, 24))
    for row, (i, j) in enumerate((i, j) for j in range(8) for i in range(j + 1)):
        factor = 1.0 if i == j else ROOT2
        if j < 4:
            semidefinite[row, UPPER.index((i, j))] = factor
        elif i < 4 and i >= j - 4:  # Z[i, j - 4], stored as the upper entry (j - 4, i)
            semidefinite[row, 10 + UPPER.index((j - 4, i))] = factor
        elif i == j:
            semidefinite[row, 10 + UPPER.index((j - 4, j - 4))] = factor
    exponential = np.zeros((12, 24))
    for k in range(4):
        exponential[3 * k, 20 + k] = 1
        exponential[3 * k + 2, 10 + UPPER.index((k, k))] = 1
    return semidefinite, exponential, np.tile([0.0, 1.0, 0.0], 4)
