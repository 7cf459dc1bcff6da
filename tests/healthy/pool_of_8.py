from sharded import Pool, model, train

KEEP = []


def main(graph, plant):
    KEEP.append(weights := Pool(graph, plant, 8))
    return train(model(weights, 171, layers=12), 171, steps=3)
