"""The knowledge graph agent: message passing by hand, copying, padding, saving."""

import pytest
import torch

from dialeval.models import DynoNet, DynoNetConfig
from dialeval.models.modeling_dynonet import SELECT, VALUE
from dialeval.training.graph_examples import DialogueGraph, GraphVocabulary, collate

WORDS = GraphVocabulary(["do", "you", "know", "?", "yes", "no"])
IDS = {"Name": 1, "Hobby": 2}
ITEMS = [("anna", "chess"), ("ben", "chess"), ("ben", "rowing")]


@pytest.fixture
def model():
    torch.manual_seed(0)
    model = DynoNet(DynoNetConfig(len(WORDS), 2, word_size=5, node_size=4, hidden_size=6))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.6)
    return model.double().eval()


def graph(*utterances):
    made = DialogueGraph(["Name", "Hobby"], ITEMS, IDS)
    for number, words in enumerate(utterances):
        made.say(words, by_partner=number % 2 == 0)
    return made


def inputs(made):
    tensors = made.tensors(WORDS)
    return {
        name: (value.double() if value.is_floating_point() else value)[None]
        for name, value in tensors.items()
    }


def test_nodes_and_edges_are_items_attributes_and_values():
    made = graph()
    tensors = made.tensors(WORDS)
    assert tensors["kinds"].tolist() == [1, 1, 1, 2, 2, 3, 3, 3, 3]
    anna, chess = made.values["Name", "anna"], made.values["Hobby", "chess"]
    edges = tensors["edges"]
    assert torch.equal(edges, edges.T)
    assert edges[0, anna] == 1 and edges[0, chess] == 2 and edges[1, anna] == 0
    assert edges[anna, 3] == edges[chess, 4] == 3 and edges[anna, 4] == 0
    assert tensors["features"][chess, 0].item() == pytest.approx(0.3)  # two items, one attribute


def test_mentions_are_marked_fade_and_may_be_new():
    made = graph(["do", ("Name", "anna")], ["yes", ("Hobby", "golf")], ["no"])
    tensors = made.tensors(WORDS)
    anna, golf = made.values["Name", "anna"], made.values["Hobby", "golf"]
    assert golf == 9 and tensors["kinds"][golf] == VALUE
    assert tensors["edges"][golf].nonzero()[:, 0].tolist() == [4]  # no item has it
    assert tensors["features"][anna, 1:].tolist() == pytest.approx([0, 0, 1, 0.49, 0, 0])
    assert tensors["features"][golf, 1:].tolist() == pytest.approx([1, 0.7, 0, 0, 0, 0])
    made.select(ITEMS[1], by_partner=True)
    assert made.tensors(WORDS)["features"][1, 1:].tolist() == [0, 0, 0, 0, 0, 1]


def test_message_passing_by_hand(model):
    batch = inputs(graph(["do", ("Name", "anna"), "?"]))
    encoder = model.graph
    with torch.no_grad():
        nodes, _ = model.encode(**batch)
        width = model.config.node_size
        vectors = [nodes[0, :, :width]]
        edges = batch["edges"][0]
        for message, update in zip(encoder.message, encoder.update, strict=True):
            rows = []
            for node in range(len(edges)):
                others = edges[node].nonzero()[:, 0]
                labels = encoder.relation(edges[node, others])
                sent = [
                    torch.tanh(message(vectors[-1][other]) + label)
                    for other, label in zip(others, labels, strict=True)
                ]
                received = torch.stack(sent).mean(0)
                rows.append(torch.tanh(update(torch.cat([vectors[-1][node], received]))))
            vectors.append(torch.stack(rows))
    torch.testing.assert_close(nodes[0], torch.cat(vectors, -1))


def test_padding_does_not_matter(model):
    small, large = graph(["yes"]), graph(["do", ("Hobby", "golf"), "?"], ["no"])
    targets = [small.target(["no"], WORDS), large.target([("Hobby", "golf"), "yes"], WORDS)]
    examples = [
        {**made.tensors(WORDS), "labels": labels}
        for made, labels in zip((small, large), targets, strict=True)
    ]
    batch = {
        name: value.double() if value.is_floating_point() else value
        for name, value in collate(examples).items()
    }
    with torch.no_grad():
        together = model(**batch).logits
        for row, (made, labels) in enumerate(zip((small, large), targets, strict=True)):
            alone = model(**inputs(made), labels=labels[None]).logits[0]
            steps, size = alone.shape
            torch.testing.assert_close(together[row, :steps, :size], alone)
            assert (together[row, :steps, size:] < -1e8).all()


def test_an_entity_is_copied_and_an_item_selected(model):
    made = graph(["do", ("Name", "anna")])
    labels = made.target(["yes", ("Name", "anna")], WORDS)
    assert labels.tolist() == [WORDS["yes"], len(WORDS) + made.values["Name", "anna"], 3]
    assert made.target_item(ITEMS[2], WORDS).tolist() == [SELECT, len(WORDS) + 2]
    batch, free = inputs(made), torch.tensor([False, True, False] + [False] * 6)
    outputs = [
        model.decode(batch, free[None], [torch.Generator().manual_seed(seed)], 3.0)[0]
        for seed in range(200)
    ]
    selected = [ids for ids in outputs if ids[0] == SELECT]
    assert selected and all(ids == [SELECT, len(WORDS) + 1] for ids in selected)
    for ids in outputs:  # items are only selected, never said
        assert ids[0] == SELECT or not set(ids) & {SELECT, *(len(WORDS) + at for at in range(5))}


def test_a_response_does_not_depend_on_its_batch(model):
    graphs = [graph(["yes"]), graph(["do", ("Hobby", "golf"), "?"], ["no", ("Name", "anna")])]
    batches = [inputs(made) for made in graphs]
    padded = collate([made.tensors(WORDS) for made in graphs])
    together = {k: v.double() if v.is_floating_point() else v for k, v in padded.items()}
    counts = [batch["kinds"].shape[1] for batch in batches]
    free = torch.zeros(2, max(counts), dtype=torch.bool)
    free[:, 1] = True
    for seed in range(30):
        draws = [torch.Generator().manual_seed(seed + row) for row in range(2)]
        both = model.decode(together, free, draws, 3.0)
        for row, batch in enumerate(batches):
            alone = torch.Generator().manual_seed(seed + row)
            expected = model.decode(batch, free[row : row + 1, : counts[row]], [alone], 3.0)[0]
            assert both[row] == expected
    greedy = model.decode(together, free)
    for row, batch in enumerate(batches):
        assert greedy[row] == model.decode(batch, free[row : row + 1, : counts[row]])[0]


def test_saved_and_loaded_logits_are_equal(model, tmp_path):
    model.save_pretrained(tmp_path)
    loaded = DynoNet.from_pretrained(tmp_path, dtype=torch.float64).eval()
    batch, labels = inputs(graph(["yes"])), torch.tensor([[6, 7, 3]])
    with torch.no_grad():
        pair = [item(**batch, labels=labels).logits for item in (model, loaded)]
    torch.testing.assert_close(*pair, rtol=0, atol=1e-12)


def test_gradients_reach_every_parameter(model):
    made = graph(["do", ("Name", "anna")], ["yes"])
    labels = made.target(["no", ("Hobby", "chess"), "?"], WORDS)
    model.train()(**inputs(made), labels=labels[None]).loss.backward()
    assert not [name for name, item in model.named_parameters() if item.grad is None]
