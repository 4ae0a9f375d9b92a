"""A GPT small enough for any CPU, and a training of it that can be killed at any time.

python -m examples.tiny_gpt TOKENS CHECKPOINT STEPS prints a line for each step, and goes on where CHECKPOINT stands.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

import lowtide as lt

VOCABULARY, BLOCK, BATCH = 256, 64, 16
WIDTH, HEADS, LAYERS = 96, 4, 3
STEPS_A_CHECKPOINT = 10


class Layer(nn.Module):
    """Attention to what came before, then two linear layers, each added to its input."""

    def __init__(self) -> None:
        super().__init__()
        self.before_attention, self.before_linear = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.to_heads, self.from_heads = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.linear = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        heads = self.to_heads(self.before_attention(x)).view(batch, length, 3, HEADS, WIDTH // HEADS)
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.from_heads(seen.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.linear(self.before_linear(x))


class TinyGpt(nn.Module):
    """Tokens to the loss of predicting the next ones."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(BLOCK, WIDTH)
        self.layers = nn.Sequential(*(Layer() for _ in range(LAYERS)))
        self.after, self.to_tokens = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        hidden = self.layers(self.tokens(x) + self.places.weight[: x.shape[1]])
        logits = self.to_tokens(self.after(hidden))
        return functional.cross_entropy(logits.view(-1, VOCABULARY), y.reshape(-1))


def save(checkpoint: Path, content: dict[str, object]) -> None:
    """The old checkpoint or the new one, whole, whenever the process is killed."""
    unfinished = checkpoint.with_suffix(".unfinished")
    torch.save(content, unfinished)
    os.replace(unfinished, checkpoint)


def train(tokens: Path, checkpoint: Path, steps: int) -> None:
    """From the checkpoint, or from the beginning where there is none."""
    torch.manual_seed(1337)
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(1)  # as fast for so small a model, and one order of summing on every machine
    model = TinyGpt()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loader = lt.TokenLoader(tokens, block=BLOCK, batch=BATCH, seed=1337, like="torch")
    first = 0
    if checkpoint.exists():
        saved = torch.load(checkpoint)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        loader.load_state_dict(saved["loader"])
        first = saved["step"]
    batches = iter(loader)
    for step in range(first, steps):
        loss = model(*next(batches))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, loss.item().hex(), flush=True)
        if (step + 1) % STEPS_A_CHECKPOINT == 0:
            states = {"model": model, "optimizer": optimizer, "loader": loader}
            save(checkpoint, {"step": step + 1, **{name: each.state_dict() for name, each in states.items()}})
    loader.close()


if __name__ == "__main__":
    train(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
