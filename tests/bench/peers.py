"""Times plumb's executor, all checks on, against interpreters of the same kernels in one run:
Triton's own interpreter (fp16 matmul, row softmax) and numba's CUDA simulator (tiled matmul).

    tools/setup --peers                             brings what this needs into build/peers
    build/peers/bin/python tests/bench/peers.py     [LIBRARY]

plumb runs them through its driver library (driver/), as a program that uses CUDA's driver would.
Times are those of a launch until it has ended, the best of a few, and the results must agree. No
test: a busy machine must not fail a build.
"""

import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
FOLDER = pathlib.Path(__file__).resolve().parent
REPEATS = 5


# --- the kernels that Triton compiles, and interprets ---

TRITON_KERNELS = '''
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    at_a = a + rows[:, None] * K + inner[None, :]
    at_b = b + inner[:, None] * N + columns[None, :]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        total = tl.dot(tl.load(at_a), tl.load(at_b), total)
        at_a += BK
        at_b += BK * N
    tl.store(c + rows[:, None] * N + columns[None, :], total)


@triton.jit
def softmax(x, y, columns, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, WIDTH)
    inside = at < columns
    value = tl.load(x + row * columns + at, mask=inside, other=-float("inf"))
    power = tl.exp(value - tl.max(value, axis=0))
    tl.store(y + row * columns + at, power / tl.sum(power, axis=0), mask=inside)
'''


class HostTensor:
    """The little of a tensor library's interface that Triton's interpreter asks for."""

    def __init__(self, array):
        self.array = array
        self.dtype = str(array.dtype)

    def data_ptr(self):
        return self.array.ctypes.data

    def untyped_storage(self):
        return self

    def cpu(self):
        return self

    def new_empty(self, _size, device=None):
        return HostTensor(self.array[:0])

    def set_(self, storage, *_layout):
        self.array = storage.array

    def storage_offset(self):
        return 0

    def size(self):
        return self.array.shape

    def stride(self):
        return self.array.strides

    def copy_(self, other):
        if other.array is not self.array:
            self.array[...] = other.array


def compile_worker(folder):
    """Writes NAME.ptx and NAME.json of every kernel; runs in a process of its own, since the
    interpreter is chosen when Triton is imported."""
    import triton
    from triton.backends.compiler import GPUTarget

    sys.path.insert(0, folder)
    import kernels

    pointers = {"matmul": ("*fp16", "*fp16", "*fp32"), "softmax": ("*fp32", "*fp32")}
    constants = {"matmul": {"BM": 64, "BN": 64, "BK": 32}, "softmax": {"WIDTH": 1024}}
    for name, types in pointers.items():
        kernel = getattr(kernels, name)
        signature = dict(zip(kernel.arg_names, types))
        for argument in kernel.arg_names[len(types):]:
            signature[argument] = "constexpr" if argument in constants[name] else "i32"
        # Pointers and sizes are multiples of 16, as a launch of these arguments would find.
        aligned = {(i,): [["tt.divisibility", 16]] for i, argument in enumerate(kernel.arg_names)
                   if signature[argument] != "constexpr" and argument != "columns"}
        source = triton.compiler.ASTSource(kernel, signature, constants[name], aligned)
        made = triton.compile(source, target=GPUTarget("cuda", 80, 32), options={"num_warps": 4})
        pathlib.Path(folder, name + ".ptx").write_text(made.asm["ptx"])
        pathlib.Path(folder, name + ".json").write_text(
            json.dumps({"shared": made.metadata.shared, "entry": made.metadata.name}))


def best_of(work, repeats=REPEATS):
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def interpret_worker(folder):
    """Runs every kernel in the interpreter; prints seconds as JSON, leaves NAME.out.npy."""
    import numpy

    sys.path.insert(0, folder)
    import kernels

    def load(name):
        return HostTensor(numpy.load(pathlib.Path(folder, name + ".npy")))

    a, b, x = load("a"), load("b"), load("x")
    c = HostTensor(numpy.zeros((256, 256), numpy.float32))
    y = HostTensor(numpy.zeros_like(x.array))
    seconds = {
        "matmul": best_of(lambda: kernels.matmul[(4, 4)](a, b, c, 256, 256, 256, 64, 64, 32)),
        "softmax": best_of(lambda: kernels.softmax[(256,)](x, y, 1000, 1024)),
    }
    numpy.save(pathlib.Path(folder, "matmul.out.npy"), c.array)
    numpy.save(pathlib.Path(folder, "softmax.out.npy"), y.array)
    print(json.dumps(seconds))


cuda = None


def simulate_worker(folder):
    """The tiled matmul of kernels.cu, n = 64, in numba's simulator."""
    import numpy
    from numba import cuda as numba_cuda, float32

    global cuda  # the simulator puts its own in place of this global while a kernel runs
    cuda = numba_cuda

    @cuda.jit
    def matmul(a, b, c, n):
        ta = cuda.shared.array((16, 16), float32)
        tb = cuda.shared.array((16, 16), float32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        column, row = cuda.blockIdx.x * 16 + x, cuda.blockIdx.y * 16 + y
        total = float32(0)
        for t in range(0, n, 16):
            ta[y, x] = a[row, t + x]
            tb[y, x] = b[t + y, column]
            cuda.syncthreads()
            for i in range(16):
                total += ta[y, i] * tb[i, x]
            cuda.syncthreads()
        c[row, column] = total

    a, b = (numpy.load(pathlib.Path(folder, name + ".npy")) for name in ("sa", "sb"))
    c = numpy.zeros((64, 64), numpy.float32)
    seconds = best_of(lambda: matmul[(4, 4), (16, 16)](a, b, c, 64), 1)
    numpy.save(pathlib.Path(folder, "simulated.out.npy"), c)
    print(json.dumps(seconds))


WORKERS = {"compile": compile_worker, "interpret": interpret_worker, "simulate": simulate_worker}


def work(name, folder, **environment):
    """What a worker prints last, in a process of its own."""
    done = subprocess.run([sys.executable, __file__, "--" + name, folder], check=True,
                          stdout=subprocess.PIPE, env={**os.environ, **environment})
    return done.stdout.decode().strip().splitlines()[-1:] or [""]


class Driver:
    """The calls of CUDA's driver library that a launch needs."""

    def __init__(self, library):
        self.cuda = ctypes.CDLL(str(library))
        device, self.context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuCtxCreate_v2", ctypes.byref(self.context), 0, device)

    def call(self, name, *arguments):
        code = getattr(self.cuda, name)(*arguments)
        if code:
            sys.exit(f"peers: {name} gave {code}")

    def run(self, ptx, entry, grid, block, shared, arguments):
        """Arrays are copied to the device and back; numbers are 32 bits. Seconds of a launch."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), ptx.encode() + b"\0")
        self.call("cuModuleGetFunction", ctypes.byref(function), module, entry.encode())
        values, buffers = [], []
        for argument in arguments:
            if isinstance(argument, int):
                values.append(ctypes.c_uint32(argument))
                continue
            address = ctypes.c_uint64()
            self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(argument.nbytes))
            self.call("cuMemcpyHtoD_v2", address, argument.ctypes.data_as(ctypes.c_void_p),
                      ctypes.c_size_t(argument.nbytes))
            buffers.append((argument, address))
            values.append(address)
        # Scratch memory that a kernel of Triton may be given: none.
        values += [ctypes.c_uint64(0)] * (ptx.count(".param .") - len(values))
        pointers = (ctypes.c_void_p * len(values))(
            *(ctypes.cast(ctypes.byref(v), ctypes.c_void_p) for v in values))

        def launch():
            self.call("cuLaunchKernel", function, *grid, *block, shared, None, pointers, None)
            self.call("cuCtxSynchronize")

        seconds = best_of(launch)
        for array, address in buffers:
            self.call("cuMemcpyDtoH_v2", array.ctypes.data_as(ctypes.c_void_p), address,
                      ctypes.c_size_t(array.nbytes))
            self.call("cuMemFree_v2", address)
        self.call("cuModuleUnload", module)
        return seconds


def report(name, peer, theirs, ours, wanted, at_least):
    ratio = theirs / ours
    print(f"{name:24} {peer:24} {1e3 * theirs:10.1f} ms, plumb {1e3 * ours:8.1f} ms: "
          f"{ratio:7.1f} times faster (at least {at_least} are asked), values {wanted}")
    return ratio >= at_least and wanted == "equal"


def main(library):
    import numpy

    driver = Driver(library)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "kernels.py").write_text(TRITON_KERNELS)
        random = numpy.random.default_rng(1)
        inputs = {
            "a": random.integers(-7, 8, (256, 256)).astype(numpy.float16),
            "b": random.integers(-7, 8, (256, 256)).astype(numpy.float16),
            "x": random.standard_normal((256, 1000)).astype(numpy.float32),
            "sa": random.integers(-7, 8, (64, 64)).astype(numpy.float32),
            "sb": random.integers(-7, 8, (64, 64)).astype(numpy.float32),
        }
        for name, array in inputs.items():
            numpy.save(path / (name + ".npy"), array)
        work("compile", folder)
        seconds = json.loads(work("interpret", folder, TRITON_INTERPRET="1")[0])
        seconds["simulated"] = json.loads(work("simulate", folder)[0])

        def compare(title, peer, name, at_least, ptx, entry, grid, block, shared, arguments, result,
                    tolerance=0):
            ours = driver.run(ptx, entry, grid, block, shared, arguments)
            other = numpy.load(path / (name + ".out.npy"))
            equal = numpy.allclose(result, other, rtol=tolerance, atol=0)
            return report(title, peer, seconds[name], ours, "equal" if equal else "DIFFER", at_least)

        def triton(title, name, grid, arguments, result, tolerance=0):
            meta = json.loads((path / (name + ".json")).read_text())
            return compare(title, "Triton's interpreter", name, 10,
                           (path / (name + ".ptx")).read_text(), meta["entry"], grid, (128, 1, 1),
                           meta["shared"], arguments, result, tolerance)

        c, y = numpy.zeros((256, 256), numpy.float32), numpy.zeros_like(inputs["x"])
        small = numpy.zeros((64, 64), numpy.float32)
        good = [
            triton("fp16 matmul 256", "matmul", (4, 4, 1),
                   [inputs["a"], inputs["b"], c, 256, 256, 256], c),
            # Exponentials may differ in the last place.
            triton("row softmax 256x1000", "softmax", (256, 1, 1), [inputs["x"], y, 1000], y, 2e-6),
            compare("f32 matmul 64", "numba's CUDA simulator", "simulated", 100,
                    (FOLDER / "kernels.ptx").read_text(), "matmul", (4, 4, 1), (16, 16, 1), 0,
                    [inputs["sa"], inputs["sb"], small, 64], small),
        ]
        return 0 if all(good) else 1


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1][2:] in WORKERS:
        WORKERS[sys.argv[1][2:]](sys.argv[2])
    else:
        default = FOLDER.parent.parent / "build" / "release" / "cuda" / "libcuda.so.1"
        sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else default))
