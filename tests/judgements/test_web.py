"""The annotation page over HTTP: durable, blind, escaped, and closed to strangers."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from dialeval.judgements.store import JudgementStore
from tests.judgements.annotation import TAG, Client, make_store, serving

pytest.importorskip("uvicorn", reason="install the extra `annotate`")

from dialeval.judgements.web.app import COOKIE, SHARED_ADDRESS


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return make_store(tmp_path_factory.mktemp("real"), count=40, per_item=9)


@pytest.fixture(scope="module")
def server(project):
    with serving(project.path) as server:
        yield server


def rows_of(store, name):
    pseudonym = store.identities.pseudonym(name)
    return [row for row in JudgementStore(store.path).judgements() if row.annotator == pseudonym]


def test_an_annotator_joins_answers_undoes_and_returns(server, project):
    client = Client(server).join("ann")
    seen = []
    for answer in ("real", "fake", "real"):
        seen.append(client.item)
        client.answer(answer)
    assert [row.answer for row in rows_of(project, "ann")] == ["real", "fake", "real"]
    client.undo()
    assert client.item == seen[-1] and "taken back" in client.page
    assert len(rows_of(project, "ann")) == 2
    again = Client(server)  # another browser, the same name, on this machine
    assert again.join("ann").item == client.item and "2 of 40" in again.page
    closed = Client(server)
    closed.cookie = client.cookie  # a closed tab
    assert closed.get("/").item == client.item


def test_a_double_click_and_a_stale_page_count_once(server, project):
    client = Client(server).join("bob")
    form = client.fields("answer", "csrf", "item") | {"answer": "real"}
    client.request("POST", "/answer", form)
    following = client.item
    client.request("POST", "/answer", form | {"answer": "fake"})
    assert "your first answer was kept" in client.page and client.item == following
    [row] = rows_of(project, "bob")
    assert row.answer == "real"
    undo = client.fields("undo", "csrf", "item")
    client.request("POST", "/undo", undo)
    client.request("POST", "/undo", undo)
    assert "Nothing was taken back" in client.page and rows_of(project, "bob") == []


def test_two_tabs_show_the_same_item_and_one_answer_counts(server, project):
    one = Client(server).join("cy")
    two = Client(server)
    two.cookie = one.cookie
    two.get("/task")
    assert one.item == two.item
    threads = [threading.Thread(target=tab.answer) for tab in (one, two)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(rows_of(project, "cy")) == 1


def test_texts_are_escaped_and_authors_are_not_sent(server):
    client = Client(server).join("dan")
    for _ in range(4):
        assert TAG not in client.page and "&lt;script&gt;" in client.page
        body = client.page.partition("<main>")[2]
        assert "random" not in body and "human" not in body and "truth" not in body
        client.answer()
    assert "script-src 'nonce-" in client.headers["content-security-policy"]
    assert client.headers["cache-control"] == "no-store"


def test_forms_of_other_sites_are_refused(server, project):
    client = Client(server).join("eve")
    form = client.fields("answer", "csrf", "item") | {"answer": "real"}
    assert client.request("POST", "/answer", form | {"csrf": "guess"}).status == 403
    assert client.request("POST", "/answer", form, Origin="http://evil.example").status == 403
    assert client.request("POST", "/answer", {"item": form["item"]}).status == 403
    assert client.request("GET", "/task", Host="evil.example").status == 400  # DNS rebinding
    other = Client(server).join("eve-2")
    assert other.request("POST", "/answer", form).status == 403  # the form of another session
    assert rows_of(project, "eve") == []
    assert client.request("POST", "/answer", form).status == 200


def test_bad_requests_do_no_harm(server, project):
    client = Client(server).join("flo")
    good = client.fields("answer", "csrf", "item")

    def post(**more):
        return client.request("POST", "/answer", good | more).status

    assert post(answer="perhaps") == 400
    assert post(answer="real", item="none") == 400
    assert post(answer="") == 200 and "answer every question" in client.page
    assert post(answer="x" * 70_000) == 413
    assert post(answer="real", seconds="nan") == 200
    assert len(rows_of(project, "flo")) == 1
    assert Client(server).get("/task").status == 403
    assert client.get("/etc/passwd").status == 404


def test_a_killed_server_loses_nothing(tmp_path):
    store = make_store(tmp_path, count=30)
    with serving(store.path) as server:
        client = Client(server).join("ann")
        for _ in range(10):
            client.answer()
        server.kill()
        assert len(rows_of(store, "ann")) == 10
        server.start()
        client.get("/task")
        assert "10 of 30" in client.page
        for _ in range(5):
            client.answer()
    assert len({row.item for row in rows_of(store, "ann")}) == 15


def test_killed_while_many_write_every_acknowledged_answer_is_there(tmp_path):
    """Four annotators answer as fast as they can; the server is killed in between."""
    store = make_store(tmp_path, count=80, per_item=4)
    acknowledged: dict[str, set[str]] = {name: set() for name in "abcd"}
    enough = threading.Event()

    def annotate(server, name):
        client = Client(server).join(name)
        try:
            while not enough.is_set() or len(acknowledged[name]) < 5:
                item = client.item
                client.answer()
                acknowledged[name].add(item)
        except (OSError, AttributeError):  # the connection broke, or the page was cut off
            pass

    with serving(store.path) as server:
        threads = [threading.Thread(target=annotate, args=(server, name)) for name in "abcd"]
        for thread in threads:
            thread.start()
        enough.wait(1.0)
        server.kill()
        for thread in threads:
            thread.join(30)
    for name in "abcd":
        rows = rows_of(store, name)
        items = {row.item for row in rows}
        assert acknowledged[name] <= items and len(rows) == len(items)
        assert len(items) <= len(acknowledged[name]) + 1  # one may be written and not shown


# Opened wider: links only


@pytest.fixture(scope="module")
def closed(tmp_path_factory):
    store = make_store(tmp_path_factory.mktemp("closed"), "human", count=10)
    store.identities.register(["ann", "bob"])
    with serving(store.path, door="links") as server:
        yield store, server


def test_strangers_are_refused(closed):
    _, server = closed
    stranger = Client(server).get("/")
    assert stranger.status == 403 and "link that you were given" in stranger.page
    form = {"csrf": "", "name": "mallory"}
    assert stranger.request("POST", "/join", form).status == 403
    assert stranger.get("/task").status == 403
    assert stranger.get("/join/0123456789abcdef").status == 403


def test_a_personal_link_lets_in_and_back(closed):
    store, server = closed
    link = f"/join/{store.identities.token('ann')}"
    client = Client(server).join("ignored", link)
    assert client.status == 200 and store.identities.annotators() == ["ann", "bob"]
    client.answer("left")
    again = Client(server).join("ignored", link)
    assert again.item == client.item and link in again.page
    assert [row.answer in ("win", "lose") for row in rows_of(store, "ann")] == [True]


def test_an_invitation_lets_new_people_in_but_not_as_others(closed):
    store, server = closed
    link = f"/join/{store.identities.invitation()}"
    assert Client(server).join("newcomer", link).status == 200
    assert Client(server).join("ann", link).status == 409
    assert Client(server).join("  ", link).status == 400


def test_a_link_with_other_letters_is_refused_like_any_other(closed):
    _, server = closed
    client = Client(server).get("/join/%C3%A9t%C3%A9")
    assert client.status == 403 and "not valid" in client.page


def test_links_cannot_be_guessed_for_long(closed):
    _, server = closed
    client = Client(server)
    codes = [client.get(f"/join/{number:032d}").status for number in range(25)]
    assert codes[-1] == 429 and 403 in codes


def test_requests_are_limited(tmp_path):
    store = make_store(tmp_path, count=30)
    with serving(store.path, requests=8) as server:
        client = Client(server).join("ann")
        codes = [client.get("/task").status for _ in range(12)]
        assert codes[-1] == 429 and codes[0] == 200
        assert Client(server).get("/").status == 200  # others are not affected


def test_sessions_that_are_made_up_do_not_get_around_the_limit(tmp_path):
    store = make_store(tmp_path, count=30)
    with serving(store.path, requests=2) as server:
        codes = []
        for number in range(2 * SHARED_ADDRESS + 5):
            client = Client(server)
            client.cookie = f"{COOKIE}=made-up-{number}"
            codes.append(client.get("/task").status)
    assert codes[0] == 403 and codes[-1] == 429


def test_two_people_who_choose_one_name_at_once_do_not_share_it(tmp_path):
    store = make_store(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        keys = list(pool.map(lambda _: store.identities.join("ann", only_new=True), range(8)))
    assert sum(key is not None for key in keys) == 1
    assert store.identities.join("ann") is not None  # with a personal link


@pytest.mark.parametrize(
    ("task", "form", "answer"),
    [("better", {"answer": "tie"}, "tie"), ("rating", {"scale-0": "4", "scale-1": "2"}, 4.0)],
)
def test_other_tasks_have_their_answers(tmp_path, task, form, answer):
    store = make_store(tmp_path, task, count=6)
    with serving(store.path) as server:
        client = Client(server).join("ann")
        client.answer("", **form)
        assert client.status == 200
    assert rows_of(store, "ann")[0].answer == answer


def test_the_choice_of_a_pair_is_the_reply_that_was_shown(tmp_path):
    store = make_store(tmp_path, "human", count=12)
    with serving(store.path) as server:
        client = Client(server).join("ann")
        for _ in range(12):
            left = client.page.partition('aria-label="Reply 1"')[2].partition("</section>")[0]
            client.answer("left" if "person" in left else "right")
    assert {row.answer for row in rows_of(store, "ann")} == {"lose"}  # always the human's
    swapped = [item.swapped("ann") for item in store.items.values()]
    assert any(swapped) and not all(swapped)
