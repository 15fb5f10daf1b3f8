# SPDX-License-Identifier: MIT
"""What serving engines call in each of their processes where the wheel of gemmsmith is installed: entry points of vLLM (group vllm.general_plugins) and SGLang (group sglang.srt.plugins).

Their unquantized linear layers are torch's, so gemmsmith.torch.enable() serves them, compiled and in captured graphs too; a kernel is chosen by the rows of each call.

    GEMMSMITH_ENGINES=on          the default
    GEMMSMITH_ENGINES=invariant   rows whose bits do not depend on the batch (docs/internals/invariant.md)
    GEMMSMITH_ENGINES=off         nothing is done; so with VLLM_PLUGINS or SGLANG_PLUGINS without the name gemmsmith"""
import logging
import os
import warnings

_NVML_CHECK = "PYTORCH_NVML_BASED_CUDA_CHECK"   # whether there is a GPU is asked without starting CUDA, which a child by fork could not use then
_log = logging.getLogger("gemmsmith")


def _enable(invariant):
    kept = os.environ.get(_NVML_CHECK)
    os.environ[_NVML_CHECK] = "1"
    try:
        import gemmsmith.torch as adapter
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")   # that there is no GPU is said below
            return adapter.enable(invariant=invariant)
    finally:
        if kept is None:
            del os.environ[_NVML_CHECK]
        else:
            os.environ[_NVML_CHECK] = kept


def register():
    """Called by the engine, without arguments, perhaps several times. Raises nothing: what goes wrong is a warning of the logger "gemmsmith", and the engine's own kernels are used."""
    mode = os.environ.get("GEMMSMITH_ENGINES") or "on"
    if mode == "off":
        return
    if mode not in ("on", "invariant"):
        _log.warning("GEMMSMITH_ENGINES: %r is none of on, off, invariant; the engine's own kernels are used", mode)
        return
    if mode == "on" and os.environ.get("VLLM_BATCH_INVARIANT", "0") not in ("", "0"):
        _log.warning("VLLM_BATCH_INVARIANT is set: vLLM's own kernels are used; GEMMSMITH_ENGINES=invariant takes those of gemmsmith")
        return
    try:
        if not _enable(mode == "invariant"):
            _log.warning("torch finds no GPU; the engine's own kernels are used")
    except Exception as error:  # an engine must start whatever is wrong here
        _log.warning("%s: %s; the engine's own kernels are used", type(error).__name__, error)
