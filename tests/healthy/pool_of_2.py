from sharded import Pool, model, train

KEEP = []


def main(graph, plant):
    KEEP.append(weights := Pool(graph, plant, 2))
    return train(model(weights, 170), 170)
