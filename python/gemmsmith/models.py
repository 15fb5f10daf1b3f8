# SPDX-License-Identifier: MIT
"""Puts the modules of fused.py, and one product for q, k and v, into a model: gemmsmith.torch.fuse(). What would compute anything else stays as it is."""
import ast as _ast
import collections as _collections
import inspect as _inspect
import textwrap as _textwrap

import torch as _torch

from gemmsmith import fused as _fused

__all__ = ["Projection", "fuse"]


def fuse(model, norms=True, qkv=True):
    """Puts a SwiGLU in the place of every MLP of a model that is made as those of transformers are: gate_proj, up_proj and down_proj without biases, and silu or a gelu as act_fn; an RMSNorm
    in that of every module whose class is called ...RMSNorm, in f16 and bf16, and that computes the same (norms=False: these stay); and Projections in those of q_proj, k_proj and v_proj of
    every self-attention, which then are one product (qkv=False: these stay; so does an attention whose forward() gives them different inputs, or may change one in between). Returns how many
    MLPs, norms and attentions there were. What computes anything else (dropout, a norm, a clamp), has hooks, or has weights that differ in type, device or in whether they are trained, stays
    as it is; so does what is on the device "meta". The weights of gate_proj and up_proj, and those of q_proj, k_proj and v_proj, are copied, one module after the other. state_dict() has the
    names as before; the parameters of what was replaced are others, so make optimizers later."""
    made, attentions = {}, 0
    for parent in list(model.modules()):
        for name, child in list(parent._modules.items()):
            if child not in made:
                fused = _mlp_of(child) or (_norm_of(child) if norms else None)
                if fused is None:
                    continue
                made[child] = fused.train(child.training)
            setattr(parent, name, made[child])
    if qkv:
        used = _collections.Counter(id(part) for module in model.modules() for part in (*module._modules.values(), *module._parameters.values()))
        attentions = sum(_join_projections(module, used) for module in list(model.modules()))
    return len(made) + attentions


# ---- q, k and v ----

def _state_of(x, weight):
    """What must not change between two layers for which x is one input. A graph that is being compiled knows no changes, and where torch does not count those of x, _have_one_input() vouches."""
    if _torch.compiler.is_compiling():
        return None
    return (None if x.is_inference() else x._version, None if weight.is_inference() else weight._version, _torch.is_grad_enabled(),
            _torch.is_autocast_enabled(x.device.type) and _torch.get_autocast_dtype(x.device.type), _torch.cuda.current_stream(x.device) if x.is_cuda else None)


class Joined(_torch.nn.Module):
    """Linear layers with the same input as one product: their weights one below the other, and, until all have been asked for, what they gave for the last input."""

    def __init__(self, layers):
        super().__init__()
        self.sizes, trains = [layer.out_features for layer in layers], layers[0].weight.requires_grad
        self.weight = _torch.nn.Parameter(_torch.cat([layer.weight.detach() for layer in layers]), requires_grad=trains)
        self.bias = None if layers[0].bias is None else _torch.nn.Parameter(_torch.cat([layer.bias.detach() for layer in layers]), requires_grad=layers[0].bias.requires_grad)
        self._kept = None   # (input, what was so when it came, results, which were asked for)

    def part(self, at, x):
        """What the layer at this place gives for x. The same tensor, unchanged, in the same stream and mode: from the product that an earlier layer has started."""
        kept, now = self._kept, _state_of(x, self.weight)
        if kept is None or kept[0] is not x or kept[1] != now or at in kept[3]:
            kept = (x, now, _fused.linear(x, self.weight, self.bias).split(self.sizes, -1), ())
        self._kept = (*kept[:3], (*kept[3], at)) if len(kept[3]) + 1 < len(self.sizes) else None   # one tuple: another thread sees all of it or none
        return kept[2][at]

    def view(self, name, at):
        whole = getattr(self, name)
        return None if whole is None else whole.narrow(0, sum(self.sizes[:at]), self.sizes[at])

    def __getstate__(self):
        return {**self.__dict__, "_kept": None}

    def _save_to_state_dict(self, *_):
        """Each Projection saves and loads its part."""

    def _load_from_state_dict(self, *_):
        pass


class Projection(_torch.nn.Module):
    """One of several linear layers with the same input, as q_proj, k_proj and v_proj of an attention: together they are one product. It runs when the first of them is called with an input, and the
    others find their columns there; a tensor that has changed in between is not taken for the same. state_dict() has the names and the tensors of nn.Linear; `weight` and `bias` are views of the parameters, which belong to the first."""

    def __init__(self, joined, at):
        super().__init__()
        self._joined = (joined,)   # no module of this one
        if at == 0:
            self.joined = joined
        self.at, self.in_features, self.out_features = at, joined.weight.shape[1], joined.sizes[at]

    weight = property(lambda self: self._joined[0].view("weight", self.at))
    bias = property(lambda self: self._joined[0].view("bias", self.at))

    def forward(self, x):
        return self._joined[0].part(self.at, x)

    def extra_repr(self):
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}, part {self.at} of one product"

    def _tensors(self):
        return {name: tensor for name, tensor in (("weight", self.weight), ("bias", self.bias)) if tensor is not None}

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, tensor in self._tensors().items():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()

    def _load_from_state_dict(self, state_dict, prefix, _, strict, missing, unexpected, errors):
        tensors = self._tensors()
        for name, tensor in tensors.items():
            loaded = state_dict.get(prefix + name)
            if loaded is None:
                missing.extend([prefix + name] if strict else [])
            elif loaded.shape != tensor.shape:
                errors.append(f"size mismatch for {prefix}{name}: {tuple(loaded.shape)} cannot be loaded into {tuple(tensor.shape)}")
            else:
                with _torch.no_grad():
                    tensor.copy_(loaded)
        unexpected.extend(key for key in state_dict if strict and key.startswith(prefix) and key[len(prefix):] not in tensors)


_QKV = ("q_proj", "k_proj", "v_proj")


def _changes(node, variable):
    """Whether this part of a program assigns to the variable, or changes something in place."""
    if isinstance(node, (_ast.Attribute, _ast.Subscript)):
        return not isinstance(node.ctx, _ast.Load) or (isinstance(node, _ast.Attribute) and node.attr.endswith("_"))
    if isinstance(node, _ast.Name):
        return node.id == variable and not isinstance(node.ctx, _ast.Load)
    return isinstance(node, (_ast.AugAssign, _ast.Delete)) or (isinstance(node, _ast.keyword) and node.arg in ("out", "inplace"))


def _have_one_input(module):
    """Whether forward(), as it is written, calls each of q_proj, k_proj and v_proj once, with one and the same variable, between which nothing is assigned to it and nothing is changed in place."""
    try:
        nodes = list(_ast.walk(_ast.parse(_textwrap.dedent(_inspect.getsource(type(module).forward)))))
    except (OSError, TypeError, SyntaxError):
        return False
    named = [node for node in nodes if isinstance(node, _ast.Attribute) and node.attr in _QKV]
    calls = [node for node in nodes if isinstance(node, _ast.Call) and node.func in named and not node.keywords and len(node.args) == 1 and isinstance(node.args[0], _ast.Name)]
    inputs = {node.args[0].id for node in calls}
    if len(named) != len(_QKV) or {node.func.attr for node in calls} != set(_QKV) or len(inputs) != 1:
        return False
    first, last = min((node.lineno, node.col_offset) for node in calls), max((node.end_lineno, node.end_col_offset) for node in calls)
    return not any(_changes(node, *inputs) for node in nodes if hasattr(node, "lineno") and first <= (node.lineno, node.col_offset) <= last)


def _join_projections(module, used):
    """Makes q_proj, k_proj and v_proj of a self-attention one product. used: how often each module and parameter stands in the model. Whether it is one."""
    layers = [module._modules.get(name) for name in _QKV]
    if not all(type(layer) is _torch.nn.Linear and _is_bare(layer) and used[id(layer)] == 1 for layer in layers) or "forward" in vars(module):
        return False
    tensors = [tensor for layer in layers for tensor in (layer.weight, layer.bias) if tensor is not None]
    if len(tensors) not in (3, 6) or len({(t.dtype, t.device, t.requires_grad) for t in tensors}) > 1 or tensors[0].is_meta or len({layer.in_features for layer in layers}) > 1:
        return False
    if any(used[id(tensor)] > 1 for tensor in tensors) or not _have_one_input(module):
        return False
    joined = Joined(layers)
    for at, name in enumerate(_QKV):
        setattr(module, name, Projection(joined, at).train(layers[at].training))
    return True


# ---- MLPs and norms ----

def _mlp_of(module):
    """A SwiGLU that does what an MLP does; None: it is none, or none such."""
    projections, activation = [getattr(module, part, None) for part in ("gate_proj", "up_proj", "down_proj")], _activation_of(getattr(module, "act_fn", None))
    if not (all(type(p) is _torch.nn.Linear and p.bias is None for p in projections) and activation and _is_plain(module, *projections, activation)):
        return None
    fused = _fused.SwiGLU.of(*projections, activation)
    fused.as_parts = True
    return fused


_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks", "_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks",
          "_load_state_dict_post_hooks")


def _is_bare(module):
    """Whether nothing would be lost with it and what it is made of: hooks, or a forward() that was put there later; and whether it takes one operand and nothing else."""
    for part in module.modules():
        if "forward" in vars(part) or any(getattr(part, hooks, None) for hooks in _HOOKS):
            return False
    operands = list(_inspect.signature(module.forward).parameters.values())
    return len(operands) == 1 and operands[0].kind is operands[0].POSITIONAL_OR_KEYWORD


def _is_plain(mlp, gate, up, down, activation):
    """Whether a SwiGLU does what this MLP does: it has no other parts and nothing that would be lost, weights of one kind, and the same results for some rows, small and large, while it trains."""
    weights = [p.weight for p in (gate, up, down)]
    if set(mlp._modules) - {"gate_proj", "up_proj", "down_proj", "act_fn"} or mlp._parameters or mlp._buffers or weights[0].is_meta:
        return False
    if len({(w.dtype, w.device) for w in weights}) > 1 or weights[0].requires_grad != weights[1].requires_grad:
        return False
    if not _is_bare(mlp):
        return False
    trained, close = mlp.training, 2e-2 if weights[0].dtype in _fused.HALVES else 2e-3
    try:
        with _torch.no_grad(), _torch.random.fork_rng(devices=[weights[0].device] if weights[0].is_cuda else []):
            mlp.train()
            for size in (1, 100):
                x = size * _torch.randn(16, gate.in_features, dtype=weights[0].dtype, device=weights[0].device)
                got, want = down(_fused.gated_by_torch(x, _torch.cat(weights[:2]), activation)), mlp(x)
                if want.shape != got.shape or not _torch.allclose(want, got, rtol=close, atol=close * got.abs().max().item()):
                    return False
        return True
    except Exception:   # it wants something else than rows
        return False
    finally:
        mlp.train(trained)


def _norm_of(module):
    """An RMSNorm with the weight of a module that computes the same, in every bit where that is torch's operators; None: it does not."""
    weight, eps = getattr(module, "weight", None), getattr(module, "variance_epsilon", getattr(module, "eps", None))
    if not type(module).__name__.endswith("RMSNorm") or isinstance(module, _fused.RMSNorm) or not isinstance(eps, float) or set(module._parameters) != {"weight"} or module._buffers or module._modules:
        return None
    if not isinstance(weight, _torch.Tensor) or weight.dim() != 1 or weight.is_meta or weight.dtype not in _fused.HALVES or not _is_bare(module):
        return None
    trained, fits = module.training, [(True, False), (False, False), (False, True), (True, True)]   # rounded, plus_one
    try:
        with _torch.no_grad(), _torch.random.fork_rng(devices=[weight.device] if weight.is_cuda else []):
            other = _torch.randn_like(weight)   # weights that were never trained are ones, and tell less
            x = _torch.randn(3, 16, weight.shape[0], dtype=weight.dtype, device=weight.device) * _torch.tensor([1e-3, 1, 100], dtype=weight.dtype, device=weight.device)[:, None, None]
            for mode in (True, False):
                got = _torch.func.functional_call(module.train(mode), {"weight": other}, (x,))
                fits = [kind for kind in fits if got.dtype == x.dtype and _torch.equal(got, _fused.norm_by_torch(x, other, eps, *kind))]
    except Exception:   # it wants something else than rows
        return None
    finally:
        module.train(trained)
    if not fits:
        return None
    norm = _fused.RMSNorm(0, eps, *fits[0])
    norm.weight = module.weight
    return norm


def _activation_of(function):
    """The name of what computes one of these activations; None: it computes anything else."""
    z = _torch.linspace(-8, 8, 4097)   # where they differ most is far beyond these bounds
    try:
        with _torch.no_grad():
            got = function(z)
            return next((name for name in ("silu", "gelu_tanh", "gelu") if got.dtype == z.dtype and _torch.allclose(got, _fused.activate(z, name), rtol=1e-6, atol=1e-6)), None)
    except Exception:   # it wants something else, or is nothing that can be called
        return None
