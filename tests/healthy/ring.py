from sharded import Ring, model, train

KEEP = []


def main(graph, plant):
    KEEP.append(weights := Ring(graph, plant, 4))
    return train(model(weights, 172), 172)
