"""The CUDA module lies beside the extension; cuBLAS and cuSOLVER come from NVIDIA's wheels where
the system has none. (What runs on a GPU is tested elsewhere.)"""

import ctypes
import pathlib
import subprocess

import pytest

import polyad
from polyad import _cuda


def build(path, soname):
    """A library of that name whose one function answers 7."""
    path.parent.mkdir(parents=True, exist_ok=True)
    source = path.parents[2] / "answer.c"
    source.write_text("int answer(void) { return 7; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", f"-Wl,-soname,{soname}", "-o", path, source],
                   check=True)


@pytest.mark.parametrize("layout", [
    {"cublas/lib/libcublas.so.12": "libcublas_a.so.12",
     "cusolver/lib/libcusolver.so.11": "libcusolver_a.so.11"},
    {"cu13/lib/libcublas.so.13": "libcublas_b.so.13",
     "cu13/lib/libcusolver.so.12": "libcusolver_b.so.12"},
])
def test_libraries_of_wheels_are_found_and_loaded(tmp_path, layout):
    for name, soname in layout.items():
        build(tmp_path / "site-packages/nvidia" / name, soname)
        with pytest.raises(OSError):
            ctypes.CDLL(soname)
    paths = [str(tmp_path / "nothing-here"), str(tmp_path / "site-packages")]
    found = _cuda.wheel_libraries(paths)
    assert [str(path.relative_to(tmp_path / "site-packages/nvidia")) for path in found] == list(
        layout)
    kept = _cuda.load([tmp_path / "missing.so", *found])
    assert len(kept) == 2
    # By name alone, as the CUDA module asks for them.
    for soname in layout.values():
        assert ctypes.CDLL(soname).answer() == 7


def test_module_is_looked_for_beside_the_extension():
    folder = pathlib.Path(polyad.__file__).parent
    if (folder / "libpolyad_cuda.so").exists():
        pytest.skip("this package has the CUDA module")
    with pytest.raises(polyad.Error, match="libpolyad_cuda.so"):
        polyad.Plan([[1.0]], 1, device="cuda")
