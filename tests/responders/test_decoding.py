"""Every strategy, against plain Python and transformers' own search on lone, uncached rows."""

import itertools
from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from scipy import stats
from transformers import LogitsProcessor

from dialeval.dialogues import BadInput
from dialeval.responders import respond
from dialeval.responders.decoding import (
    DECODINGS,
    Beam,
    Greedy,
    MmiPenalty,
    MmiRerank,
    Sampling,
    SiblingBeam,
    Task,
    TemperatureMixture,
    decoding,
    mixed_seed,
    truncate_at_end,
)
from dialeval.responders.language import GeneratorResponder
from dialeval.responders.processors import gumbel_noise, uniform_noise
from dialeval.responders.sibling import SiblingPenalty, sibling_beam

NEW = 6
SURE = 1e-3  # draws are fixed by their seeds: a p-value below this is a fault, not bad luck
STOP_WORDS = ("you", "the", "we")


def task_for(generator, passages, n: int = 1, new: int = NEW, **fields) -> Task:
    rows = [prompt.ids for prompt in generator.prompts(generator.tokenizer, passages)]
    seeds = fields.pop("seeds", [mixed_seed(row, 7) for row in range(len(rows))])
    return Task(generator, rows, passages, seeds, n, new, **fields)


def run_strategy(strategy, task: Task) -> list[list[int]]:
    """What a strategy says, up to its end tokens."""
    output = strategy(task)
    assert output.shape[0] == len(task.rows) * task.n and output.shape[1] <= task.max_new_tokens
    return [ids for ids, _ in truncate_at_end(output, task.generator)]


def by_hand(logits_after, task: Task, choose) -> list[list[int]]:
    """Answers token by token, each read anew; `choose(logits, answer number, step)` gives one."""
    end, responses = task.generator.tokenizer.eos_token_id, []
    for answer in range(len(task.rows) * task.n):
        words: list[int] = []
        while len(words) < task.max_new_tokens and end not in words:
            logits = logits_after(task.generator, task.rows[answer // task.n], words)
            words.append(int(choose(logits, answer, len(words))))
        responses.append(words)
    return responses


def searched(plain_generate, task: Task, *processors, beams: int = 7, **settings):
    """What transformers' beam search finds for each prompt alone; processors are made anew."""
    settings = {"num_beams": beams, "num_return_sequences": task.n, **settings}
    return [
        answer
        for row in task.rows
        for answer in plain_generate(
            task.generator,
            row,
            task.max_new_tokens,
            [make(task.generator.start_at([row])) for make in processors],
            **settings,
        )
    ]


# Greedy and beam search


def test_greedy_decoding_takes_the_likeliest_token(generator, contexts, logits_after):
    task = task_for(generator, contexts)
    expected = by_hand(logits_after, task, lambda logits, *_: logits.argmax())
    assert run_strategy(DECODINGS["greedy"], task) == expected
    assert len({tuple(row) for row in expected}) > 2


def test_greedy_decoding_gives_one_answer(gpt2, contexts):
    with pytest.raises(BadInput, match="one response per context, but n is 2. Choose beam"):
        Greedy()(task_for(gpt2, contexts, n=2))


@pytest.mark.parametrize("power", [0.0, 1.0])
def test_beam_search_equals_that_of_transformers_without_a_cache_that_was_filled(
    generator, contexts, plain_generate, power
):
    task = task_for(generator, contexts, n=3)
    expected = searched(plain_generate, task, length_penalty=power, use_cache=False)
    assert run_strategy(replace(DECODINGS["beam"], length_penalty=power), task) == expected


def every_answer(logits_after, generator, prompt, most: int) -> list[tuple[float, list[int]]]:
    """All answers with their log-probabilities, best first."""
    end, size = generator.tokenizer.eos_token_id, len(generator.tokenizer)
    finished, running = [], [(0.0, [])]
    for _ in range(most):
        longer = []
        for score, words in running:
            log_probs = logits_after(generator, prompt, words).log_softmax(-1).tolist()
            longer += [(score + log_probs[token], [*words, token]) for token in range(size)]
        finished += [candidate for candidate in longer if candidate[1][-1] == end]
        running = [candidate for candidate in longer if candidate[1][-1] != end]
    return sorted(finished + running, reverse=True)


@pytest.mark.parametrize("kind", ["gpt2", "llama", "seq2seq", "copying"])
def test_a_wide_beam_search_finds_the_best_of_all_answers(build, make_passage, logits_after, kind):
    generator = build(kind, words=("cat", "dog"))  # 6 tokens, 5 of them go on
    task = task_for(generator, [make_passage("cat"), make_passage("dog cat", "cat")], n=5, new=3)
    responses = run_strategy(Beam(beams=30, length_penalty=0.0), task)
    for number, row in enumerate(task.rows):
        best = every_answer(logits_after, generator, row, 3)[:5]
        assert responses[5 * number : 5 * number + 5] == [words for _, words in best]


def test_a_beam_search_says_what_it_cannot_do(gpt2, contexts):
    with pytest.raises(BadInput, match="at least 2, but got 1"):
        Beam(beams=1)
    with pytest.raises(BadInput, match="3 beams cannot give 4 responses"):
        Beam(beams=3)(task_for(gpt2, contexts, n=4))


# Repeated words


class HeldBack(LogitsProcessor):
    """Takes a penalty from every token but stop words and special ones that was said, in loops."""

    def __init__(self, tokenizer, penalty: float, start: int):
        allowed = [tokenizer.convert_tokens_to_ids(word) for word in STOP_WORDS]
        self.allowed, self.penalty, self.start = {*allowed, 0, 1, 2, 3}, penalty, start

    def __call__(self, input_ids, scores):
        scores = scores.clone()
        for row, ids in enumerate(input_ids[:, self.start :].tolist()):
            for token in set(ids) - self.allowed:
                scores[row, token] -= self.penalty
        return scores


def test_a_beam_search_holds_repeated_words_back(generator, contexts, plain_generate):
    task = task_for(generator, contexts, n=2)
    expected = searched(
        plain_generate, task, lambda start: HeldBack(generator.tokenizer, 2.0, start)
    )
    responses = run_strategy(DECODINGS["beam-no-repeat"], task)
    assert responses == expected != run_strategy(DECODINGS["beam"], task)


def test_other_strategies_hold_repeated_words_back_too(generator, contexts, logits_after):
    task = task_for(generator, contexts, n=1, new=12)
    special = (0, 1, 2, 3, *map(generator.tokenizer.convert_tokens_to_ids, STOP_WORDS))
    for name in ("greedy", "sampling", "mmi-backward", "sibling-beam"):
        task.backward = generator
        strategy = replace(DECODINGS[name], repeat_penalty=1e4)
        for row in run_strategy(strategy, task):
            words = [token for token in row if token not in special]
            assert len(words) == len(set(words)), name
    free = [token for row in run_strategy(Greedy(), task) for token in row if token not in special]
    assert len(free) > len(set(free))


# Sampling


def drawn_by_noise(task: Task, temperatures):
    """The choice that noise makes: the token at a uniform place of the cumulated shares."""
    seeds = torch.tensor(task.copy_seeds)

    def choose(logits, answer: int, step: int) -> int:
        shares = np.exp(logits.double().numpy() / temperatures[answer // task.n])
        threshold = float(uniform_noise(seeds[answer : answer + 1], step, 1)) * shares.sum()
        return int(np.argmax(np.cumsum(shares) > threshold))

    return choose


def test_sampling_equals_one_answer_at_a_time(generator, contexts, logits_after):
    task = task_for(generator, contexts, n=3)
    responses = run_strategy(Sampling(temperature=1.5), task)
    assert responses == by_hand(logits_after, task, drawn_by_noise(task, [1.5] * len(contexts)))
    assert len({tuple(row) for row in responses}) > 10


def expected_shares(logits, temperature: float, top_k: int, top_p: float) -> np.ndarray:
    """Softmax of what is left: the k likeliest, and of these so many as make up p."""
    shares = np.exp(logits.double().numpy() / temperature)
    order = np.argsort(-shares)
    if top_k:
        shares[order[top_k:]] = 0
    shares /= shares.sum()
    before = 0.0
    for token in order:
        shares[token], before = (shares[token] if before < top_p else 0), before + shares[token]
    return shares / shares.sum()


@pytest.mark.parametrize("kind", ["gpt2", "copying"])
@pytest.mark.parametrize(
    "strategy",
    [
        DECODINGS["sampling"],
        replace(DECODINGS["top-k"], top_k=3),
        replace(DECODINGS["top-p"], top_p=0.6),
        Sampling(temperature=2.0, top_k=6, top_p=0.9),
        Sampling(temperature=0.5),
    ],
)
def test_two_tokens_are_drawn_as_often_as_their_shares(
    build, make_passage, logits_after, kind, strategy
):
    generator = build(kind)
    task = task_for(generator, [make_passage("sea sun")], n=4000, new=2)
    tokens = np.array([(row + row)[:2] for row in run_strategy(strategy, task)])
    settings = strategy.temperature, strategy.top_k, strategy.top_p
    first = expected_shares(logits_after(generator, task.rows[0]), *settings)
    counts = np.bincount(tokens[:, 0], minlength=len(first))
    assert not counts[first == 0].any()
    assert stats.chisquare(counts[first > 0], 4000 * first[first > 0]).pvalue > SURE
    common = int(np.argmax(np.where(np.arange(len(first)) == 3, 0, first)))
    second = expected_shares(logits_after(generator, task.rows[0], [common]), *settings)
    after = np.bincount(tokens[tokens[:, 0] == common, 1], minlength=len(second))
    assert not after[second == 0].any()
    kept = second * after.sum() > 5
    rest = [[*after[kept], after[~kept].sum()], [*second[kept], second[~kept].sum()]]
    observed, shares = np.array(rest)[:, np.array(rest[1]) > 0]
    assert stats.chisquare(observed, shares / shares.sum() * after.sum()).pvalue > SURE


def test_settings_of_sampling_that_cannot_be_are_refused():
    for wrong in ({"top_k": -1}, {"top_p": 0.0}, {"top_p": 1.5}):
        with pytest.raises(BadInput, match="top_k of 0 or more and top_p above 0"):
            Sampling(**wrong)
    with pytest.raises(BadInput, match="temperatures above 0, but got 0"):
        Sampling(temperature=0)


# One batch is like another


@pytest.mark.parametrize(
    "kind, name",
    [("gpt2", name) for name in DECODINGS]
    + [("copying", name) for name in ("beam", "sampling", "mmi-backward", "att-released")],
)
def test_neither_order_nor_batches_change_an_answer(build, contexts, kind, name):
    generator, strategy = build(kind), DECODINGS[name]
    strategy = replace(strategy, beams=4) if isinstance(strategy, Beam) else strategy
    helpers = {"backward": generator, "language_model": build("gpt2", seed=8)}
    n = 1 if name == "greedy" else 2

    def answers(passages, max_tokens: int) -> dict[str, list[str]]:
        responder = GeneratorResponder(generator, strategy, n, 4, max_tokens=max_tokens, **helpers)
        responses = respond(responder, passages)
        return {p.id: [reply.response for reply in responses if reply.id == p.id] for p in passages}

    alone = answers(contexts, 1)
    assert answers(contexts, 100_000) == alone
    assert answers(contexts[::-1], 60) == alone
    assert all(len(texts) == n for texts in alone.values())


def test_answers_to_one_context_do_not_depend_on_how_many_there_are(generator, contexts):
    few, many = (
        run_strategy(DECODINGS["sampling"], task_for(generator, contexts, n=n)) for n in (2, 5)
    )
    assert few == [many[5 * row + copy] for row in range(len(contexts)) for copy in range(2)]


# Maximum mutual information


def mean_log_prob(logits_after, generator, prompt, words) -> float:
    """log p of each token, read one at a time, as a mean."""
    return np.mean([
        float(logits_after(generator, prompt, words[:at]).double().log_softmax(-1)[token])
        for at, token in enumerate(words)
    ])  # fmt: skip


def test_mmi_ranks_a_beam_search_anew_by_both_directions(
    generator, build, contexts, plain_generate, logits_after
):
    weight = 0.5 if generator.is_encoder_decoder else 0.9
    assert DECODINGS["mmi-backward"].weight == 0.5
    backward = build(generator.name, seed=11)
    contexts = contexts[1:4]
    task = task_for(generator, contexts, n=3, backward=backward)
    strategy = replace(DECODINGS["mmi-backward"], beams=5, weight=weight)
    responses, expected = run_strategy(strategy, task), []
    end = [generator.tokenizer.eos_token_id]
    for passage, row in zip(contexts, task.rows, strict=True):
        settings = {"num_beams": 5, "num_return_sequences": 5}
        ranked = []
        for words in plain_generate(generator, row, NEW, **settings):
            reply = [token for token in words if token not in (0, 1, 2, 3)]
            source = backward.tokenizer(passage.context[-1].text)["input_ids"]
            forward_score = mean_log_prob(logits_after, generator, row, words)
            backward_score = mean_log_prob(logits_after, backward, reply + end, source + end)
            ranked.append(((1 - weight) * forward_score + weight * backward_score, words))
        expected += [words for _, words in sorted(ranked, key=lambda pair: -pair[0])[:3]]
    assert responses == expected != run_strategy(Beam(5), task)


class LessProbable(LogitsProcessor):
    """Takes a part of log p(t) away, reading every row from its beginning."""

    def __init__(self, logits_after, model, weight: float, most: int | None, start: int):
        self.logits, self.model, self.weight = logits_after, model, weight
        self.most, self.start = most, start

    def __call__(self, input_ids, scores):
        rows = input_ids[:, self.start :].tolist()
        if self.most is not None and len(rows[0]) >= self.most:
            return scores
        begin = [self.model.tokenizer.bos_token_id]
        log_probs = [self.logits(self.model, begin, row).log_softmax(-1) for row in rows]
        return scores - self.weight * torch.stack(log_probs)


def test_mmi_holds_back_what_is_probable_everywhere(
    generator, build, contexts, plain_generate, logits_after
):
    weight, most = (0.8, 2) if generator.is_encoder_decoder else (0.5, None)
    model, contexts = build("llama", seed=8, style="none"), contexts[1:4]
    task = task_for(generator, contexts, n=2, language_model=model)
    strategy = replace(DECODINGS["mmi-penalty"], weight=weight, first_tokens=most, beams=4)
    expected = searched(
        plain_generate,
        task,
        lambda start: LessProbable(logits_after, model, weight, most, start),
        beams=4,
    )
    assert run_strategy(strategy, task) == expected != run_strategy(Beam(4), task)


def test_mmi_says_which_model_it_misses(gpt2, build, contexts):
    with pytest.raises(BadInput, match=r"needs a model of p\(s\|t\).*--direction backward"):
        MmiRerank()(task_for(gpt2, contexts))
    with pytest.raises(BadInput, match="needs a language model of responses.*--language-model"):
        MmiPenalty()(task_for(gpt2, contexts))
    other = build("gpt2", words=("cat", "dog"))
    with pytest.raises(BadInput, match="another vocabulary than the generator.*--tokenizer"):
        MmiPenalty()(task_for(gpt2, contexts, language_model=other))
    with pytest.raises(BadInput, match="must be causal, but this one has an encoder.*--model gpt2"):
        MmiPenalty()(task_for(gpt2, contexts, language_model=build("seq2seq")))


# Siblings


def test_both_readings_of_the_sibling_penalty_run_as_strategies(
    generator, contexts, plain_generate
):
    task, gamma = task_for(generator, contexts, n=2), 1.0
    ranking = searched(plain_generate, task, beams=4, custom_generate=sibling_beam, gamma=gamma)
    adding = searched(plain_generate, task, lambda _: SiblingPenalty(gamma), beams=4)
    assert run_strategy(SiblingBeam(4, gamma=gamma), task) == ranking
    assert run_strategy(SiblingBeam(4, gamma=gamma, accumulated=True), task) == adding


def test_the_readings_of_the_sibling_penalty_and_beam_search_differ(gpt2, make_passage):
    texts = map(" ".join, itertools.product(("cat", "sea", "rain"), ("you", "sun")))
    task = task_for(gpt2, [make_passage(text) for text in texts], n=3)
    plain, ranking, adding = (
        run_strategy(strategy, task)
        for strategy in (
            Beam(4),
            SiblingBeam(4, gamma=2),
            SiblingBeam(4, gamma=2, accumulated=True),
        )
    )
    assert plain != ranking != adding != plain
    assert run_strategy(SiblingBeam(4, gamma=0), task) == plain


# A mixture of temperatures


def test_each_context_draws_one_temperature_for_all_its_answers(generator, contexts, logits_after):
    task = task_for(generator, contexts, n=3)
    strategy = DECODINGS["att"]
    drawn = strategy.temperatures_of(task)
    assert len(drawn) == len(contexts) and len(set(drawn)) > 1
    assert run_strategy(strategy, task) == by_hand(logits_after, task, drawn_by_noise(task, drawn))


def test_temperatures_are_drawn_uniformly(gpt2):
    seeds = [mixed_seed(seed, 5) for seed in range(4000)]
    task = Task(gpt2, [[5]] * 4000, [], seeds)
    counts = [
        DECODINGS["att"].temperatures_of(task).count(temperature)
        for temperature in (0.3, 1.0, 10.0, 100.0)
    ]
    assert sum(counts) == 4000 and stats.chisquare(counts).pvalue > SURE
    fewer = Task(gpt2, [[5]] * 10, [], seeds[100:110])
    assert (
        DECODINGS["att"].temperatures_of(fewer) == DECODINGS["att"].temperatures_of(task)[100:110]
    )


def test_a_turn_draws_one_temperature_for_all_contexts(gpt2):
    strategy = DECODINGS["att-released"]
    by_turn = [
        strategy.temperatures_of(Task(gpt2, [[5]] * 3, [], [turn, 8, 9], turn=turn))
        for turn in range(1500)
    ]
    assert all(len(set(drawn)) == 1 for drawn in by_turn)
    counts = [by_turn.count([temperature] * 3) for temperature in (0.3, 1.0, 3.0)]
    assert sum(counts) == 1500 and stats.chisquare(counts).pvalue > SURE


def test_the_seed_of_a_responder_draws_the_temperature_of_a_turn(gpt2, contexts):
    strategy = TemperatureMixture((1e-3, 50.0), "turn")
    answers = [
        [
            passage.response
            for passage in respond(GeneratorResponder(gpt2, strategy, 4, NEW, seed), contexts)
        ]
        for seed in range(8)
    ]
    distinct = [
        len(set(texts)) for texts in answers
    ]  # all answers to a context alike, or hardly any
    assert {count <= len(contexts) for count in distinct} == {True, False}
    assert all(count <= len(contexts) or count > 15 for count in distinct)


def test_distinct_first_tokens_are_followed_by_what_is_generated_without_a_cache(
    generator, contexts, logits_after
):
    task = task_for(generator, contexts, n=4, turn=1)
    strategy = DECODINGS["att-released"]
    drawn = strategy.temperatures_of(task)
    responses = run_strategy(strategy, task)
    opened = torch.tensor([row[0] for row in responses]).reshape(-1, 4)
    assert all(len(set(row)) == 4 for row in opened.tolist())
    noise = gumbel_noise(torch.tensor([mixed_seed(seed, -2) for seed in task.seeds]), 0, 14)
    for number, row in enumerate(task.rows):
        noisy = logits_after(generator, row).double() / drawn[number] + noise[number]
        assert opened[number].tolist() == noisy.argsort(descending=True)[:4].tolist()
    later = drawn_by_noise(task, drawn)

    def choose(logits, answer, step):
        return later(logits, answer, step) if step else opened.flatten()[answer]

    assert responses == by_hand(logits_after, task, choose)
    assert {len(row) for row in responses} != {1}


@pytest.mark.parametrize("kind", ["gpt2", "seq2seq"])
def test_distinct_first_tokens_are_drawn_without_replacement(
    build, make_passage, logits_after, kind
):
    generator, rows = build(kind, words=("cat", "dog")), 4000
    passages = [make_passage("dog", "cat")] * rows
    seeds = [mixed_seed(row, 3) for row in range(rows)]
    task = task_for(generator, passages, n=3, new=1, seeds=seeds)
    tokens = TemperatureMixture((2.0,), distinct_first=True)(task).reshape(rows, 3).numpy()
    assert all(len(set(row)) == 3 for row in tokens.tolist())
    shares = (logits_after(generator, task.rows[0]).double() / 2).softmax(-1).numpy()
    counts = np.bincount(tokens[:, 0], minlength=len(shares))
    assert stats.chisquare(counts, rows * shares).pvalue > SURE
    pairs = list(itertools.permutations(range(len(shares)), 2))
    expected = [rows * shares[a] * shares[b] / (1 - shares[a]) for a, b in pairs]
    observed = [int(((tokens[:, 0] == a) & (tokens[:, 1] == b)).sum()) for a, b in pairs]
    assert stats.chisquare(observed, expected).pvalue > SURE


def test_distinct_first_tokens_run_out(build, make_passage):
    generator = build("gpt2", words=("cat", "dog"))
    strategy = DECODINGS["att-released"]
    assert len(strategy(task_for(generator, [make_passage("cat")], n=6))) == 6
    with pytest.raises(BadInput, match="6 tokens cannot begin 7 different responses"):
        strategy(task_for(generator, [make_passage("cat")], n=7))


def test_temperatures_that_cannot_be_are_refused():
    with pytest.raises(BadInput, match="context or turn, but got 'word'"):
        TemperatureMixture(per="word")
    for wrong in ((), 1.0):
        with pytest.raises(BadInput, match="one temperature or more, but got.*temperatures=\\["):
            TemperatureMixture(wrong)
    with pytest.raises(BadInput, match="temperatures above 0, but got -1"):
        TemperatureMixture((1.0, -1.0))
    assert TemperatureMixture([1.0]) == TemperatureMixture((1.0,))


# Strategies by name


def test_a_strategy_by_name_takes_other_settings():
    assert decoding("beam") == Beam() == DECODINGS["beam"]
    assert decoding("beam-no-repeat", beams=3) == Beam(3, repeat_penalty=2.0)
    assert decoding("top-k", temperature=0.7) == Sampling(0.7, 40)
    assert decoding("att", temperatures=(1.0,)) == TemperatureMixture((1.0,))
    assert repr(decoding("sibling-beam", gamma=1)) == (
        "SiblingBeam(beams=7, length_penalty=1.0, repeat_penalty=0.0, gamma=1, accumulated=False)"
    )


def test_unknown_strategies_and_settings_list_the_choices():
    with pytest.raises(BadInput, match="Unknown decoding 'beem'") as error:
        decoding("beem")
    assert all(name in str(error.value) for name in DECODINGS)
    for name, strategy in DECODINGS.items():
        with pytest.raises(BadInput, match=f"'{name}' has no setting 'heat'") as error:
            decoding(name, heat=3)
        assert all(field.name in str(error.value) for field in fields(strategy))
    with pytest.raises(BadInput, match="'temperature' of 'sampling' is a number, but got 'hot'"):
        decoding("sampling", temperature="hot")


def test_rows_end_at_their_first_end_token(gpt2):
    ids = torch.tensor([[5, 3, 7, 3], [3, 3, 3, 3], [5, 6, 0, 7]])
    assert truncate_at_end(ids, gpt2) == [([5, 3], True), ([3], True), ([5, 6, 0, 7], False)]
