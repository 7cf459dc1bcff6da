"""Q-learning on CartPole with a replay buffer that fills while it trains, and a target network."""

import collections
import copy
import random

import counts
import gymnasium
import leaks
import torch
from torch import nn

STEPS, BATCH, CAPACITY, WIDTH, START = 120, 128, 600, 512, 200


class QNetwork(nn.Module):
    def __init__(self, observations, actions):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(observations, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU())
        self.head = nn.Linear(WIDTH, actions)

    def forward(self, x):
        return self.head(self.layers(x))


way = counts.setup()
random.seed(0)
environment = gymnasium.make("CartPole-v1")
model = QNetwork(4, 2)
target = copy.deepcopy(model)
keep = leaks.planted(way, model.layers)
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
buffer = collections.deque(maxlen=CAPACITY)
returns, total = [], 0.0
observation, _ = environment.reset(seed=0)
for step in range(START + STEPS):
    if random.random() < 0.2:
        action = environment.action_space.sample()
    else:
        with torch.no_grad():
            action = int(model(torch.as_tensor(observation)).argmax())
    following, reward, ended, cut, _ = environment.step(action)
    buffer.append((torch.as_tensor(observation), action, reward, torch.as_tensor(following), ended))
    observation, total = following, total + reward
    if ended or cut:
        returns.append(total)
        observation, total = environment.reset()[0], 0.0
    if step < START:
        continue
    states, actions, rewards, after, over = zip(*random.sample(buffer, BATCH), strict=True)
    hidden = model.layers(torch.stack(states))
    values = model.head(hidden).gather(1, torch.tensor(actions)[:, None])[:, 0]
    with torch.no_grad():
        best = target(torch.stack(after)).amax(1) * (1 - torch.tensor(over).float())
    loss = nn.functional.smooth_l1_loss(values, torch.tensor(rewards).float() + 0.99 * best)
    keep(hidden)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        target.load_state_dict(model.state_dict())
counts.print_counts(model, optimizer, copies=(target,))
