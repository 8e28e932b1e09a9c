"""train_jax.py PROFILE: some arrays on two devices, a profile of them by JAX, and their sizes.

    XLA_FLAGS=--xla_force_host_platform_device_count=2 python3 train_jax.py jax-VERSION.prof > jax-VERSION.txt
"""
import sys

import jax
import jax.numpy as jnp


class Layer:
    def __init__(self, n, device):
        self.w = jax.device_put(jnp.ones((n, n)), device)
        self.b = jax.device_put(jnp.zeros((n,)), device)


def build(count):
    devices = jax.devices()
    return [Layer(64 * (i + 1), devices[i % len(devices)]) for i in range(count)]


@jax.jit
def step(x, w):
    return jnp.tanh(x @ w)


def train():
    layers = build(3)
    x = jnp.ones((16, 64))
    kept = [step(x, layers[0].w) for _ in range(4)]
    jax.block_until_ready(kept)
    jax.profiler.save_device_memory_profile(sys.argv[1])
    for array in [l.w for l in layers] + [l.b for l in layers] + [x] + kept:
        print(array.device, array.nbytes)


train()
