"""Every reader on a small example and on what can be wrong with it."""

import json

import pytest

from dialeval.dialogues.formats import format_of, formats
from dialeval.dialogues.readers import chitchat
from dialeval.dialogues.sources import BadInput, Source
from dialeval.dialogues.types import text_key

FILE_NAMES = {"opensubtitles": "OpenSubtitles.txt", "lines": "model.hyp", "csv": "table.csv"}
NO_TEXT = {"parquet", "dstc7", "hub", "folder", "saved-dataset", "inspect"}  # no text files
CONTEXTS = "dstc7-task2-context.tsv"
RESPONSES = "dstc7-task2-system_responses.tsv"
RATINGS = "dstc7-task2-human_evaluation.tsv"


@pytest.fixture
def write(tmp_path):
    def write_file(text, name="example.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
        return path

    return write_file


def read(path, name, **options):
    return list(formats()[name].read(Source(path, **options)))


def spoken_turns(dialogue):
    return [(turn.speaker, turn.text) for turn in dialogue.turns]


def texts(dialogue):
    return [turn.text for turn in dialogue.turns]


def replies(dialogue):
    return {reply.author: reply.text for reply in dialogue.replies}


# The table of formats


@pytest.mark.parametrize("name", sorted(set(formats()) - NO_TEXT))
def test_example_is_recognised_as_exactly_its_format_and_can_be_read(name, write):
    path = write(formats()[name].example + "\n", FILE_NAMES.get(name, "example.tsv"))
    write("UNknown\n" + "\n".join(f"w{n}" for n in range(2, 20)), "movie_25000")
    assert format_of(path).name == name
    dialogues = read(path, name)
    assert dialogues
    assert all(dialogue.id for dialogue in dialogues)
    if not formats()[name].whole:
        assert all(dialogue.replies for dialogue in dialogues)


@pytest.mark.parametrize("name", sorted(formats()))
def test_summary_names_the_format_and_ends_with_a_full_stop(name):
    assert formats()[name].summary.endswith(".")


@pytest.mark.parametrize("name", [name for name, format in formats().items() if format.by_line])
def test_a_span_of_lines_reads_like_that_part_of_the_file(name, write):
    example = formats()[name].example
    path = write(f"{example}\n{example}\n{example}\n")
    start = len(f"{example}\n".encode())
    whole = read(path, name)
    part = read(path, name, span=(start, 2 * start), first_line=2 + example.count("\n"))
    assert part == whole[len(part) : 2 * len(part)]


# Whole dialogues


CALL = (
    "A|So, do you fish?|qy\nB|[noise]|%\nB|Well,|%\nB|not since May.|sd\nA|<Laughter>|x\nA|Oh.|b\n"
)


def test_switchboard_merges_units_and_drops_what_has_no_words(write):
    (call,) = read(write(CALL, "2001.txt"), "switchboard")
    assert spoken_turns(call) == [
        ("A", "So, do you fish?"),
        ("B", "Well, not since May."),
        ("A", "Oh."),
    ]
    assert (call.id, call.corpus, call.language) == ("swb-2001", "switchboard", "en")
    assert call.units == 4


@pytest.mark.parametrize("text", ["<Laughter>.", "[noise]", "(( ))", "((a word))", "?"])
def test_switchboard_drops_markers_before_merging(text, write):
    (call,) = read(write(f"A|Hm, a|sd\nB|{text}|b\nA|garden.|sd\n"), "switchboard")
    assert spoken_turns(call) == [("A", "Hm, a garden.")]


def test_switchboard_folder_is_read_in_order_and_names_the_bad_file(write):
    write(CALL, "calls/b/9.txt")
    write("A|Hi.|fp\nno bars here\nB|Hi.|fp\n", "calls/a/8.txt")
    folder = write(CALL, "calls/a/7.txt").parents[1]
    with pytest.raises(BadInput, match=r"8\.txt:2: expected speaker\|utterance\|act"):
        read(folder, "switchboard")
    problems = []
    calls = read(folder, "switchboard", skip_bad=True, problems=problems)
    assert [call.id for call in calls] == ["swb-7", "swb-8", "swb-9"]
    assert texts(calls[1]) == ["Hi.", "Hi."]
    assert [problem.line for problem in problems] == [2]


def test_switchboard_folder_is_recognised(write):
    folder = write(CALL, "calls/a/7.txt").parents[1]
    assert format_of(folder).name == "switchboard"


def test_opensubtitles_blank_line_ends_a_dialogue(write):
    path = write("Who is it?\nMe.\n\nRun!\n" + "Faster!\n" * 60)
    first, second = read(path, "opensubtitles")
    assert spoken_turns(first) == [("A", "Who is it?"), ("B", "Me.")]
    assert len(second.turns) == 61


def test_opensubtitles_without_blank_lines_is_cut_every_50_lines(write):
    path = write("".join(f"line {n}\n" for n in range(120)) + "\n\n")
    assert [len(dialogue.turns) for dialogue in read(path, "opensubtitles")] == [50, 50, 20]


def test_opensubtitles_is_known_only_by_its_name(write):
    assert format_of(write("Run!\nWhere?\n", "OPENSUBTITLES_en.txt")).name == "opensubtitles"
    with pytest.raises(BadInput, match="no format fits"):
        format_of(write("Run!\nWhere?\n", "film.txt"))
    passage = {"context": ["hi"], "response": "hello"}
    assert format_of(write(passage, "opensubtitles.jsonl")).name == "passages"


def subtle_block(sub_id, diff, text="Run!"):
    return f"SubId - {sub_id}\nDialogueId - 4\nDiff - {diff}\nI - {text}\nR - Where?\n\n"


def test_subtle_keeps_pairs_up_to_one_second_apart(write):
    path = write(subtle_block(1, 1000) + subtle_block(2, 1001) + subtle_block(3, 0))
    kept = read(path, "subtle")
    assert [dialogue.id for dialogue in kept] == ["subtle-1-4", "subtle-3-4"]
    assert texts(kept[0]) == ["Run!", "Where?"]
    assert kept[0].extra == {"diff": 1000}


def test_movietriples_are_three_turns(write):
    (triple,) = read(write("far ?\tnot far .\tgood .\n"), "movietriples")
    assert spoken_turns(triple) == [("A", "far ?"), ("B", "not far ."), ("A", "good .")]


def test_ubuntu_joins_the_utterances_of_a_turn(write):
    path = write("hi __eou__ no sound __eou__ __eot__ which card ? __eou__ __eot__ usb __eou__\n")
    (dialogue,) = read(path, "ubuntu")
    assert texts(dialogue) == ["hi no sound", "which card ?", "usb"]


def test_ubuntu_json_does_not_invent_speakers(write):
    path = write([{"dialogue_id": "7/1.tsv", "timestamp": "t0", "text": "hi\n\nhello\nbye"}])
    (dialogue,) = read(path, "ubuntu-json")
    assert spoken_turns(dialogue) == [("?", "hi"), ("?", "hello"), ("?", "bye")]
    assert (dialogue.id, dialogue.extra) == ("7/1.tsv", {"timestamp": "t0"})


def test_threads_keep_unknown_keys(write):
    turns = [{"speaker": "A", "text": "it hangs"}, {"speaker": "B", "text": "when?"}]
    (thread,) = read(write({"dialogue_id": 5, "turns": turns, "topic": "boot"}), "threads")
    assert spoken_turns(thread) == [("A", "it hangs"), ("B", "when?")]
    assert (thread.id, thread.corpus, thread.extra) == ("5", "", {"topic": "boot"})


def message(agent, data, action="message"):
    return {"agent": agent, "action": action, "data": data}


def test_cocoa_merges_messages_and_keeps_the_scenario(write):
    events = [message(0, "hats ?"), message(0, "or books ?"), message(1, {"hat": 1}, "select")]
    chat = {
        "uuid": "E_1",
        "scenario": {"kbs": [[1], [2]]},
        "scenario_uuid": "S_1",
        "agents": {"0": "human", "1": "rulebased"},
        "outcome": {"reward": 1},
        "events": [*events, message(1, "hats .")],
    }
    silent = {"uuid": "E_2", "events": events[2:]}
    (dialogue,) = read(write([chat, silent]), "cocoa")
    assert spoken_turns(dialogue) == [("0", "hats ? or books ?"), ("1", "hats .")]
    assert [turn.author for turn in dialogue.turns] == ["human", "rulebased"]
    assert (dialogue.id, dialogue.extra["kbs"]) == ("E_1", [[1], [2]])
    assert dialogue.extra["outcome"] == {"reward": 1}
    assert dialogue.extra["scenario_uuid"] == "S_1"
    assert len(dialogue.extra["events"]) == 4


def test_cocoa_without_agents_is_by_humans(write):
    (dialogue,) = read(write([{"uuid": "E", "events": [message(1, "hi")]}]), "cocoa")
    assert dialogue.turns[0].author == "human"


FAIR = "1 0 4 2 1 2 {}: all hats ? <eos> {}: ok <eos> {}: <selection> {} 1 4 4 1 1 2\n"


def test_fair_views_of_one_dialogue_are_equal(write):
    deal, none = "item0=0 item1=4 item2=0 <eos> reward=8 agree", "no agreement <eos> reward=no"
    first_view = FAIR.format("YOU", "THEM", "YOU", deal)
    second_view = FAIR.format("THEM", "YOU", "THEM", f"{none} agreement agree")
    first, second = read(write(first_view + second_view), "fair")
    assert spoken_turns(first) == spoken_turns(second) == [("A", "all hats ?"), ("B", "ok")]
    assert first.id == second.id
    assert first.extra == {"input": [1, 0, 4, 2, 1, 2], "agreed": True}
    assert second.extra["agreed"] is False


def test_chitchat_turns_are_runs_of_one_sender(write):
    groups = [
        [{"text": "hey", "sender": "s9"}],
        [{"text": " ", "sender": "s1"}],
        [{"text": "you  there?", "sender": "s9"}],
        [{"text": "yes\nI am", "sender": "s1"}, {"text": "hi", "sender": "s1"}],
    ]
    (dialogue,) = read(write({"c1": {"messages": groups}}), "chitchat")
    assert spoken_turns(dialogue) == [("A", "hey you there?"), ("B", "yes I am hi")]
    assert (dialogue.id, dialogue.corpus, dialogue.units) == ("c1", "chitchat", 5)


def test_chitchat_path_says_what_to_install(monkeypatch):
    monkeypatch.setattr(chitchat, "find_spec", lambda name: None)
    with pytest.raises(BadInput, match="pip install chitchat-dataset"):
        chitchat.chitchat_path()


TRANSCRIPT = """
Robo Conversation 1
Human 1: hi
Robo: hello
Robo: who is it?
Human 1: look at this:
http://example.org is mine

Robo Conversation 2
User: bye
ROBO: bye
"""


def test_transcript_merges_and_continues_turns(write):
    first, second = read(write(TRANSCRIPT, "robo.txt"), "transcript")
    assert spoken_turns(first) == [
        ("Human 1", "hi"),
        ("Robo", "hello who is it?"),
        ("Human 1", "look at this: http://example.org is mine"),
    ]
    assert [turn.author for turn in first.turns] == ["human", "robo", "human"]
    assert [turn.author for turn in second.turns] == ["human", "robo"]
    assert [first.id, second.id] == ["robo-1", "robo-2"]


# Contexts with replies


def test_ubuntu_csv_train_has_labels(write):
    rows = 'Context,Utterance,Label\n"hi, all __eou__ __eot__",hello __eou__ you __eou__,1\n'
    rows += '"hi, all __eou__ __eot__",no idea __eou__,0\n'
    human, random = read(write(rows), "ubuntu-csv")
    assert texts(human) == ["hi, all"]
    assert (replies(human), replies(random)) == ({"human": "hello you"}, {"random": "no idea"})
    assert human.id == random.id


def test_ubuntu_csv_test_has_distractors(write):
    rows = "Context,Ground Truth Utterance,Distractor_0,Distractor_1\n"
    rows += "hi __eou__ __eot__,hello __eou__,no __eou__,why __eou__\n"
    (row,) = read(write(rows), "ubuntu-csv")
    assert replies(row) == {"human": "hello", "random": "no", "random_2": "why"}


def test_dialogpt_drops_the_weights(write):
    path = write("0.0 far ? EOS 1.0 no .\t0.5 good .\n")
    (row,) = read(path, "dialogpt")
    assert texts(row) == ["far ?", "no ."]
    assert replies(row) == {"human": "good ."}
    assert row.replies[0].extra == {"weight": 0.5}


@pytest.mark.parametrize("end", ["_EOS_", "<|endoftext|>"])
def test_dialogrpt_has_a_human_and_a_machine(end, write):
    (row,) = read(write(f"far ? {end} no .{end}\tgood .\ti see .\n"), "dialogrpt")
    assert texts(row) == ["far ?", "no ."]
    assert replies(row) == {"human": "good .", "machine": "i see ."}


def test_tsv_last_cell_is_the_response(write):
    (row,) = read(write("far ?\tno .\thow far ?\tnear .\n", "pairs.tsv"), "tsv")
    assert texts(row) == ["far ?", "no .", "how far ?"]
    assert replies(row) == {"human": "near ."}


@pytest.mark.parametrize(
    ("text", "name", "format"),
    [
        ("far ?\tno .\nwhen ?\tnow .\n", "a.txt", "tsv"),
        ("far ?\tno .\tok .\twhy ?\nwhen ?\tnow .\tok .\tbye .\n", "a.tab", "tsv"),
        ("1\tfar ?\tno .\n0\twhen ?\tnow .\n", "a.tsv", "tsv"),
        ("far ?\tno .\tok .\nwhen ?\tnow .\tok .\n", "a.tsv", "movietriples"),
        ("far ?\tno .\tok .\nwhen ? _EOS_ now .\tyes .\tok .\n1\t2", "a.tsv", "dialogrpt"),
        ("1.0 far ?\t1.0 no .\n0.0 when ?\t1.0 now .\n", "a.tsv", "dialogpt"),
        ("id\tcontext\tresponse\nd1\tfar ?\tno .\n", "a.tsv", "tsv-table"),
        ("Fine.\nNo.\n", "a.pred", "lines"),
        ("far ?\tno .\tok .\nwhen ?\tnow .\tok .\n", "a.ref", "movietriples"),
        ("hi __eou__ hello __eou__\n", "a.tgt", "dailydialog"),
    ],
)
def test_similar_formats_are_distinguished(text, name, format, write):
    assert format_of(write(text, name)).name == format


@pytest.fixture
def dstc7(write):
    write('\ufeffInstanceID\tDepth\tContext\ni1\t2\tis "it" far ?\ni2\t3\twhen ?\n', CONTEXTS)
    rows = [
        f"{system}\t{i}\t{system} says {i}"
        for i in ("i1", "i2")
        for system in ("Human", "Random", "TeamA")
    ]
    responses = write("SystemID\tInstanceID\tResponse\n" + "\n".join(rows), RESPONSES)
    return responses.parent


def test_dstc7_joins_contexts_responses_and_ratings(dstc7, write):
    write("InstanceID\tHuman\tTeamA\ni1\t4.5\t2.0\nAverage\t4.5\t2.0\n", RATINGS)
    assert format_of(dstc7).name == format_of(dstc7 / CONTEXTS).name == "dstc7"
    first, second = read(dstc7, "dstc7")
    assert texts(first) == ['is "it" far ?']
    assert [reply.author for reply in first.replies] == ["human", "random", "TeamA"]
    assert {reply.id for reply in first.replies} == {first.id} == {"i1"}
    assert [dict(reply.extra) for reply in first.replies] == [{"rating": 4.5}, {}, {"rating": 2.0}]
    assert not any(reply.extra for reply in second.replies)
    assert read(dstc7 / RESPONSES, "dstc7") == [first, second]


def test_dstc7_unknown_and_missing_instances_are_bad(dstc7):
    with (dstc7 / RESPONSES).open("a") as file:
        file.write("\nHuman\ti9\thello\n")
    with pytest.raises(BadInput, match=r"responses\.tsv:8: a response to the unknown instance i9"):
        read(dstc7, "dstc7")
    lines = (dstc7 / RESPONSES).read_text().splitlines()
    (dstc7 / RESPONSES).write_text("\n".join(lines[:6]))
    with pytest.raises(BadInput, match=r"context\.tsv:3: .* i2 lacks a response of TeamA"):
        read(dstc7, "dstc7")
    assert [dialogue.id for dialogue in read(dstc7, "dstc7", skip_bad=True)] == ["i1"]


def test_dstc7_needs_both_files(write):
    path = write("InstanceID\tDepth\tContext\ni1\t2\tfar ?\n", CONTEXTS)
    with pytest.raises(BadInput, match=f"expected {RESPONSES}"):
        read(path, "dstc7")


OUTPUTS = """### COMMENT: a note about scores ###
EVAL\tLoss
test\t3.2
emotion:proud\tvader-score: 0.5
Context:['i passed']
Topk:great
Beam:
Ref:well done
----------
emotion:proud
Context:['i passed', 'Well done !', "it was n't easy"]
Topk:no
Beam:why
Ref:i believe you
----------
emotion:sad
Context:['i passed']
Topk:oh
Beam:oh
Ref:passed what ?
----------
"""


def test_outputs_blocks_of_one_conversation_share_an_id(write):
    first, second, third = read(write(OUTPUTS), "outputs")
    assert first.id == second.id == text_key(["i passed", "well done"])
    assert third.id == text_key(["i passed", "passed what ?"])
    assert texts(second) == ["i passed", "Well done !", "it was n't easy"]
    assert replies(first) == {"human": "well done", "topk": "great", "beam": ""}
    assert first.extra == {"emotion": "proud", "vader-score": "0.5"}
    assert len({reply.id for dialogue in (first, second, third) for reply in dialogue.replies}) == 3


def test_outputs_know_what_followed_a_reference_when_the_next_block_goes_on(write):
    blocks = read(write(OUTPUTS), "outputs")
    after = [{reply.author: reply.extra.get("following") for reply in b.replies} for b in blocks]
    assert after[0] == {"human": "it was n't easy", "topk": None, "beam": None}
    assert after[1]["human"] is None and after[2]["human"] is None


def test_outputs_take_one_reference_under_any_of_its_names(write):
    (block,) = read(write("Context: far ?\nPred: no .\nHuman: yes .\n"), "outputs")
    assert replies(block) == {"human": "yes .", "pred": "no ."}
    with pytest.raises(BadInput, match="one `Ref:` line a block, found two"):
        read(write("Context: far ?\nHuman: no .\nRef: yes .\n"), "outputs")


def test_outputs_with_blank_lines_and_plain_context(write):
    block = "Context: is it far ?\nPred: no .\nMOE+oracle: yes .\nref: ten minutes .\n\n"
    first, again = read(write(block * 2), "outputs")
    assert texts(first) == ["is it far ?"]
    assert replies(first) == {"human": "ten minutes .", "pred": "no .", "moe+oracle": "yes ."}
    assert first.id == again.id
    assert first.replies[0].id != again.replies[0].id


LI = {"t_given_s": "2 3|4 1\n3|2\n", "decoded": "2 3|5\n3|4\n", "random": "2 3|2\n3|5 5\n"}


@pytest.fixture
def li(write):
    for kind, text in LI.items():
        write(text, f"li/{kind}_dev.txt")
    return write("UNknown\nfar\n?\nno\nblue\n", "li/movie_25000").parent


def test_li_folder_joins_the_authors_by_line(li):
    assert format_of(li).name == "li"
    first, second = read(li, "li")
    assert texts(first) == ["far ?"]
    assert replies(first) == {"human": "no <unk>", "machine": "blue", "random": "far"}
    assert {reply.id for reply in second.replies} == {"dev-2"}
    assert first.extra == {"split": "dev"}


@pytest.mark.parametrize(
    ("kind", "author"), [("t_given_s", "human"), ("decoded", "machine"), ("random", "random")]
)
def test_li_file_agrees_with_the_folder(kind, author, li):
    for alone, joined in zip(read(li / f"{kind}_dev.txt", "li"), read(li, "li"), strict=True):
        (reply,) = alone.replies
        assert reply in joined.replies
        assert reply.author == author
        assert (alone.id, alone.turns) == (joined.id, joined.turns)


def test_li_sources_must_agree(li, write):
    write("2 3|5\n2|4\n", "li/decoded_dev.txt")
    with pytest.raises(BadInput, match=r"t_given_s_dev\.txt:2: expected one source"):
        read(li, "li")
    assert len(read(li, "li", skip_bad=True)) == 1


def test_li_without_vocabulary_says_where_it_belongs(write):
    path = write("2 3|4\n", "t_given_s_dev.txt")
    with pytest.raises(BadInput, match="movie_25000: expected the vocabulary movie_25000 next to"):
        read(path, "li")


MULTIREF = {
    "dialogue": [
        {"text": "Far ?", "responses": ["no .", "yes .", "", "a bit ."]},
        {"text": "No .", "responses": ["good .", "how far ?"]},
        {"text": "Good ."},
    ]
}


def test_multiref_is_one_question_a_turn(write):
    first, second = read(write(MULTIREF), "multiref")
    assert first.id == second.id == "multiref-0"
    assert texts(second) == ["Far ?", "No ."]
    assert replies(first) == {"human": "no .", "human_2": "yes .", "human_4": "a bit ."}
    assert [dialogue.replies[0].id for dialogue in (first, second)] == ["0_0", "0_1"]


def test_multiref_adds_the_system_beside_it(write):
    write("maybe .\nfine .\n", "hredf.txt")
    write({"0_0": 2, "0_1": 1}, "test_duid_mapping.json")
    first, second = read(write(MULTIREF), "multiref")
    assert [replies(dialogue)["hredf"] for dialogue in (first, second)] == ["fine .", "maybe ."]
    assert first.replies[-1].id == "0_0"


def test_dailydialogpp_shapes_agree(write):
    kinds = ("positive", "adversarial_negative", "random_negative")
    listed = {"id": 7, "context": ["Far?", "No."]}
    listed |= {f"{kind}_responses": [f"{kind} 1", f"{kind} 2"] for kind in kinds}
    labels = dict(zip(kinds, ("1 (Positive R)", "0 (Adversarial R)", "0 (Random R)"), strict=True))
    responses = [
        {"text": f"{kind} {n}", "id": f"7{kind[0]}{n}", "label": labels[kind]}
        for kind in kinds
        for n in (1, 2)
    ]
    context = "Speaker A: Far?\n\nSpeaker B: No."
    paragraphs = [{"context": context, "responses": responses}]
    whole = {"version": "1.0", "data": [{"title": "Walks", "paragraphs": paragraphs}]}
    (one,) = read(write(listed, "dev.json"), "dailydialogpp")
    (other,) = read(write(whole, "test.json"), "dailydialogpp")
    assert format_of(write(whole, "test.json")).name == "dailydialogpp"
    assert one == other
    assert list(replies(one)) == [
        "human", "human_2", "adversarial", "adversarial_2", "random", "random_2",
    ]  # fmt: skip
    assert {reply.id for reply in one.replies} == {"ddpp-7"}


def test_lines_count_blank_ones(write):
    first, blank, third = read(write("Fine.\n\nNo.\n", "a.hyp"), "lines")
    assert [dialogue.id for dialogue in (first, blank, third)] == ["line-1", "line-2", "line-3"]
    assert (first.turns, replies(blank), third.replies[0].id) == ((), {"human": ""}, "line-3")


# Bad records

GOOD_JSON = {
    "threads": {"turns": [{"speaker": "A", "text": "hi"}]},
    "multiref": MULTIREF,
}
BAD = [
    # format, good record, bad record, its line, the message
    ("switchboard", CALL, "hello\n", 7, r"expected speaker\|utterance\|act"),
    ("subtle", subtle_block(1, 5), subtle_block(2, "soon"), 7, "expected milliseconds as Diff"),
    ("subtle", subtle_block(1, 5), "SubId - 2\nDiff - 3\nI - Hi.\n\n", 7, "expected each of SubId"),
    ("subtle", subtle_block(1, 5), subtle_block(2, 5, " "), 7, "once and filled"),
    ("movietriples", "a\tb\tc\n", "a\tb\n", 2, "expected 3 tab-separated cells, found 2"),
    ("movietriples", "a\tb\tc\n", "a\t \tc\n", 2, "turn 2 is empty"),
    ("ubuntu", "a __eou__ __eot__\n", "b __eou__ __eot__ c\n", 2, "expected __eou__ or __eot__"),
    ("ubuntu", "a __eou__ __eot__\n", "__eou__ __eot__\n", 2, "turn 1 is empty"),
    ("ubuntu-csv", "Context,Utterance,Label\na __eou__,b,1\n", "c __eou__,d,2\n", 3, "1 or 0"),
    ("ubuntu-csv", "Context,Utterance,Label\na __eou__,b,1\n", "c __eou__,d\n", 3, "3 cells"),
    ("threads", GOOD_JSON["threads"], {"turns": "hi"}, 2, "expected a list as 'turns'"),
    ("threads", GOOD_JSON["threads"], {"turns": [["hi"]]}, 2, "expected a turn as a JSON object"),
    ("threads", GOOD_JSON["threads"], ["hi"], 2, "expected a thread as a JSON object"),
    ("fair", FAIR.format("YOU", "THEM", "YOU", "reward=1 agree"), "1 2 hello\n", 2, "6 numbers"),
    ("dialogpt", "1.0 a\t1.0 b\n", "a\t1.0 b\n", 2, "expected a weight and a text"),
    ("dialogpt", "1.0 a\t1.0 b\n", "1.0 a\n", 2, "expected 2 tab-separated cells, found 1"),
    ("dialogrpt", "a _EOS_ b\tc\td\n", "a\tc\n", 2, "expected 3 tab-separated cells, found 2"),
    ("dialogrpt", "a _EOS_ b\tc\td\n", "_EOS_ b\tc\td\n", 2, "turn 1 is empty"),
    ("tsv", "a\tb\n", "a\n", 2, "expected at least 2 tab-separated cells, found 1"),
    ("outputs", OUTPUTS, "Context: hi\nPred: hello\n\n", 22, "expected a filled `Ref:` line"),
    ("outputs", OUTPUTS, "Ref: hello\n\n", 22, "expected a `Context:` line"),
    ("outputs", OUTPUTS, "Context: ['a\n', 1]\nRef: b\n\n", 22, "expected `Name: text`"),
    ("outputs", OUTPUTS, "Context: [1]\nRef: b\n\n", 22, "expected a text as turn"),
    ("outputs", OUTPUTS, "Context: a\nP: b\nP: c\nRef: b\n", 22, "one `P:` line a block"),
    ("multiref", MULTIREF, {"dialogue": [{"text": 3}]}, 2, "expected a text as 'text', found 3"),
    ("multiref", MULTIREF, {"dialogue": [{"responses": []}]}, 2, "no 'text' here"),
    ("transcript", TRANSCRIPT, "Robo Conversation 3\nno name\n", 12, "expected `Name: text`"),
    ("transcript", TRANSCRIPT, "Robo Conversation 3\n", 12, "at least one turn"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "good", "bad", "line", "message"), BAD)
def test_bad_record_is_named_and_can_be_skipped(name, good, bad, line, message, write):
    good, bad = (
        record if isinstance(record, str) else json.dumps(record) + "\n" for record in (good, bad)
    )
    path = write(good + bad)
    with pytest.raises(BadInput, match=rf"example\.txt:{line}: .*{message}"):
        read(path, name)
    problems = []
    kept = read(path, name, skip_bad=True, problems=problems)
    assert kept == read(write(good, "good/example.txt"), name)
    assert line in {problem.line for problem in problems}


BAD_ARRAYS = [
    ("ubuntu-json", {"dialogue_id": "a", "text": "hi"}, {"dialogue_id": "b"}, "no 'text' here"),
    ("ubuntu-json", {"dialogue_id": "a", "text": "hi"}, 3, "expected a dialogue as a JSON object"),
    ("cocoa", {"uuid": "a", "events": [message(0, "hi")]}, {"uuid": "b"}, "no 'events' here"),
    (
        "cocoa",
        {"uuid": "a", "events": [message(0, "hi")]},
        {"uuid": "b", "events": [message(0, ["hi"])]},
        "expected a text as 'data'",
    ),
]


@pytest.mark.parametrize(("name", "good", "bad", "message"), BAD_ARRAYS)
def test_bad_record_of_an_array_is_named_by_its_number(name, good, bad, message, write):
    path = write([bad, good])
    with pytest.raises(BadInput, match=rf"example\.txt:1: {message}"):
        read(path, name)
    assert len(read(path, name, skip_bad=True)) == 1


@pytest.mark.parametrize("name", ["ubuntu-json", "cocoa", "chitchat"])
def test_wrong_json_document_is_named(name, write):
    with pytest.raises(BadInput, match=r"example\.txt.*: expected a.* JSON .*found 'hi'"):
        read(write('"hi"'), name)


def test_bad_conversation_of_chitchat_is_skipped(write):
    good = {"messages": [[{"text": "hey", "sender": "s"}]]}
    path = write({"c1": {"messages": [[{"text": 5, "sender": "s"}]]}, "c2": good})
    with pytest.raises(BadInput, match=r"example\.txt:1: expected a text as 'text', found 5"):
        read(path, "chitchat")
    assert [dialogue.id for dialogue in read(path, "chitchat", skip_bad=True)] == ["c2"]


def test_bad_paragraph_of_dailydialogpp_is_named(write):
    whole = {"data": [{"paragraphs": [{"context": "Far?", "responses": []}]}]}
    with pytest.raises(BadInput, match=r"example\.txt:1: expected `Speaker A: text`"):
        read(write(whole), "dailydialogpp")


def test_bad_id_of_li_is_named_in_its_own_file(li, write):
    write("2 3|5\n3|9\n", "li/decoded_dev.txt")
    with pytest.raises(BadInput, match=r"decoded_dev\.txt:2: expected ids from 1 to 5, found '9'"):
        read(li, "li")
    problems = []
    assert len(read(li, "li", skip_bad=True, problems=problems)) == 1
    assert [problem.line for problem in problems] == [2]


def test_header_of_ubuntu_csv_is_checked(write):
    with pytest.raises(BadInput, match="expected the header Context,Utterance,Label"):
        read(write("a,b\n1,2\n"), "ubuntu-csv")


def test_text_before_a_heading_is_bad(write):
    path = write("Human: hi\n" + TRANSCRIPT)
    with pytest.raises(BadInput, match=r"example\.txt:1: expected a heading"):
        read(path, "transcript")
    assert len(read(path, "transcript", skip_bad=True)) == 2
