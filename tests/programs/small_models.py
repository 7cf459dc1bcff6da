"""Small models: MODELS has functions that return a model, a batch and its target."""

import torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)


class Attention(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (4, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        scores = (q @ k.transpose(-1, -2)) / 8
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, dim: int, dropout: float = 0) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(2))
        self.attention = Attention(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim), nn.Dropout(dropout))

    def forward(self, x):
        x = x + self.attention(self.norms[0](x))
        return x + self.mlp(self.norms[1](x))


class Gpt(nn.Module):
    def __init__(self, dropout: float = 0) -> None:
        super().__init__()
        self.embedding = nn.Embedding(1000, 128)
        self.layers = nn.ModuleList(Block(128, dropout) for _ in range(6))
        self.head = nn.Linear(128, 1000)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


class Residual(nn.Module):
    def __init__(self, inside: int, outside: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False), nn.BatchNorm2d(outside)
        self.conv2, self.norm2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False), nn.BatchNorm2d(outside)
        self.relu = nn.ReLU(inplace=True)
        self.shorter = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside)) if stride > 1 else None

    def forward(self, x):
        out = self.norm2(self.conv2(self.relu(self.norm1(self.conv1(x)))))
        out += x if self.shorter is None else self.shorter(x)
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU())
        self.blocks = nn.Sequential(Residual(32, 32), Residual(32, 64, 2), Residual(64, 64), Residual(64, 128, 2), Residual(128, 128))
        self.head = nn.Linear(128, 10)

    def forward(self, images):
        return self.head(self.blocks(self.stem(images)).mean((2, 3)))


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        sizes = [3, 16, 32, 64]
        self.down = nn.ModuleList(self.double(a, b) for a, b in zip(sizes, sizes[1:]))
        self.up = nn.ModuleList(self.double(b + a, a) for a, b in ((32, 64), (16, 32)))
        self.pool, self.last = nn.MaxPool2d(2), nn.Conv2d(16, 3, 1)

    @staticmethod
    def double(inside, outside):
        return nn.Sequential(nn.Conv2d(inside, outside, 3, padding=1), nn.ReLU(), nn.Conv2d(outside, outside, 3, padding=1), nn.ReLU())

    def forward(self, x):
        passed = []
        for block in self.down:
            x = block(x if not passed else self.pool(x))
            passed.append(x)
        passed.pop()
        for block in self.up:
            x = block(torch.cat((nn.functional.interpolate(x, scale_factor=2), passed.pop()), 1))
        return self.last(x)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(500, 128)
        self.layers = nn.ModuleList(nn.GRU(128, 128, batch_first=True) for _ in range(4))
        self.head = nn.Linear(128, 10)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)[0]
        return self.head(x.mean(1))


class Mixer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inside = nn.Linear(48, 128)
        self.blocks = nn.ModuleList(self.Layer(64, 128) for _ in range(5))
        self.head = nn.Linear(128, 10)

    class Layer(nn.Module):
        def __init__(self, tokens, dim) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
            self.tokens = nn.Sequential(nn.Linear(tokens, 4 * tokens), nn.SiLU(), nn.Linear(4 * tokens, tokens))
            self.channels = nn.Sequential(nn.Linear(dim, 4 * dim), nn.Tanh(), nn.Linear(4 * dim, dim))

        def forward(self, x):
            x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
            return x + self.channels(self.norm2(x))

    def forward(self, patches):
        x = self.inside(patches)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(1))


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(128, 4, 512, batch_first=True), 4)
        self.head = nn.Linear(128, 10)

    def forward(self, x):
        return self.head(self.encoder(x).mean(1))


class Reader(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(500, 128)
        self.rnn = nn.LSTM(128, 256, num_layers=2, batch_first=True)
        self.head = nn.Linear(256, 10)

    def forward(self, tokens):
        return self.head(self.rnn(self.embedding(tokens))[0].mean(1))


class Tied(nn.Module):
    """The last layer has the weight of the first one."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.rnn = nn.Embedding(2000, 128), nn.GRU(128, 128, batch_first=True)
        self.head = nn.Linear(128, 2000, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens):
        return self.head(self.rnn(self.embedding(tokens))[0])


class Experts(nn.Module):
    """Each token goes to one of four experts, in a dictionary by name."""

    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(128, 4)
        self.experts = nn.ModuleDict(
            {name: nn.Sequential(nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 128)) for name in ("north", "east", "south", "west")}
        )

    def forward(self, x):
        chosen, out = self.router(x).argmax(-1), torch.zeros_like(x)
        for place, expert in enumerate(self.experts.values()):
            out[chosen == place] = expert(x[chosen == place])
        return out


class Autoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.SiLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.SiLU())
        self.decoder = nn.Sequential(nn.ConvTranspose2d(32, 16, 2, 2), nn.SiLU(), nn.ConvTranspose2d(16, 3, 2, 2), nn.Tanh())

    def forward(self, images):
        return self.decoder(self.encoder(images))


def mlp():
    layers = [nn.Sequential(nn.Linear(256, 256), nn.ReLU()) for _ in range(8)]
    return nn.Sequential(*layers, nn.Linear(256, 10)), torch.randn(1024, 256), torch.randint(10, (1024,))


def sigmoids():
    layers = [nn.Sequential(nn.Linear(256, 512), nn.Sigmoid(), nn.LayerNorm(512), nn.Linear(512, 256), nn.Tanh()) for _ in range(5)]
    return nn.Sequential(*layers), torch.randn(1024, 256), torch.randn(1024, 256)


def conv():
    layers = [nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3), nn.ReLU()]
    return nn.Sequential(nn.Sequential(*layers), nn.Flatten(), nn.LazyLinear(10)), torch.randn(16, 3, 32, 32), torch.randint(10, (16,))


MODELS = {
    "gpt": lambda: (Gpt(), torch.randint(1000, (8, 128)), torch.randint(1000, (8, 128))),
    "dropout": lambda: (Gpt(0.1), torch.randint(1000, (8, 64)), torch.randint(1000, (8, 64))),
    "resnet": lambda: (ResNet(), torch.randn(16, 3, 32, 32), torch.randint(10, (16,))),
    "unet": lambda: (UNet(), torch.randn(4, 3, 64, 64), torch.randn(4, 3, 64, 64)),
    "gru": lambda: (Recurrent(), torch.randint(500, (32, 60)), torch.randint(10, (32,))),
    "mixer": lambda: (Mixer(), torch.randn(16, 64, 48), torch.randint(10, (16,))),
    "encoder": lambda: (Encoder(), torch.randn(16, 64, 128), torch.randint(10, (16,))),
    "mlp": mlp,
    "sigmoids": sigmoids,
    "conv": conv,
    "lstm": lambda: (Reader(), torch.randint(500, (32, 40)), torch.randint(10, (32,))),
    "tied": lambda: (Tied(), torch.randint(2000, (16, 40)), torch.randint(2000, (16, 40))),
    "experts": lambda: (Experts(), torch.randn(1024, 128), torch.randn(1024, 128)),
    "autoencoder": lambda: (Autoencoder(), *([torch.randn(16, 3, 32, 32)] * 2)),
}


def loss_of(output, target):
    if target.is_floating_point():
        return (output - target).pow(2).mean()
    return nn.functional.cross_entropy(output.flatten(0, -2), target.flatten())
