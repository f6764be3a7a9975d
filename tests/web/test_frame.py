"""What every page has, in a real browser: signing in, navigation, the switch of colours, the key sheet."""

import json

from kept.web.pages import PAGES


def test_the_address_of_the_terminal_signs_in_and_the_key_leaves_the_address_and_a_wrong_key_shows_nothing(chromium, served):
    served.add("The walnut harvest is on Tuesday.")
    context = chromium.new_context()
    page = context.new_page()
    page.goto(f"{served.url}/#{'x' * 43}")
    page.get_by_text("That address is of an earlier start").wait_for()
    assert "walnut" not in page.content()
    page.goto(f"{served.url}/overview#{served.key}")
    page.wait_for_selector("nav[aria-label=Pages]")
    assert page.url == f"{served.url}/overview"
    assert page.evaluate("document.cookie") == ""
    assert page.evaluate("localStorage.length + sessionStorage.length") == 0
    context.close()


def test_a_phone_has_every_page_behind_one_button(browse, served):
    page = browse("/settings", phone=True)
    links = page.locator("nav[aria-label=Pages] a")
    assert not links.first.is_visible()
    for width in (390, 320):
        page.set_viewport_size({"width": width, "height": 844})
        page.get_by_role("button", name="Menu").click()
        boxes = links.evaluate_all("all => all.map(each => each.getBoundingClientRect().toJSON())")
        assert len(boxes) == len(PAGES)
        assert all(box["left"] >= 0 and box["right"] <= width and box["height"] >= 44 for box in boxes)
        page.get_by_role("button", name="Menu").click()
        assert not links.first.is_visible()
    page.get_by_role("button", name="Menu").click()
    links.first.click()
    page.wait_for_url(f"{served.url}{PAGES[0].path}")


def test_keys_lead_past_the_navigation_to_pages_and_to_a_search_whose_letters_are_no_commands(browse, served):
    served.add("The burrow is under the walnut tree.")
    page = browse("/settings")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("?")
    assert page.locator("dialog#keys").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("dialog#keys").is_visible()
    page.get_by_role("button", name="Light / dark").click()
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    shown = page.locator("nav[aria-label=Pages] a").evaluate_all("all => all.map(each => [each.pathname, each.dataset.to])")
    assert shown == [[each.path, each.key] for each in PAGES]
    assert len({each.key for each in PAGES}) == len(PAGES)
    page.keyboard.press("g")
    page.keyboard.press("o")
    page.wait_for_url(f"{served.url}/overview")
    page.wait_for_load_state()
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    for each in "/burrow":
        page.keyboard.press(each)
    page.keyboard.press("Enter")
    page.wait_for_url("**/?q=burrow")
    page.locator(".row .says", has_text="walnut tree").wait_for()


# The contrast of each pair of colours that the page uses, as [ink, ground, ratio].
CONTRASTS = """() => {
    const shown = document.createElement("i"), square = document.createElement("canvas");
    const brush = square.getContext("2d", {willReadFrequently: true});
    document.body.append(shown);
    const rgb = (name) => {  // of a variable, or the ground of a class; a canvas reads every form a colour has
        shown.className = name.startsWith("busy") ? name : "";
        shown.style.setProperty("color", `var(--${name})`);
        brush.clearRect(0, 0, 1, 1);
        brush.fillStyle = getComputedStyle(shown)[shown.className ? "backgroundColor" : "color"];
        brush.fillRect(0, 0, 1, 1);
        return [...brush.getImageData(0, 0, 1, 1).data].slice(0, 3); };
    const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
        .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
        .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
    const ratio = (a, b) => {
        const [x, y] = [light(rgb(a)), light(rgb(b))].sort((p, q) => q - p);
        return (x + 0.05) / (y + 0.05); };
    const pairs = [];
    for (const ground of ["paper", "card", "sunk", "tint", "mark"])
        for (const ink of ["ink", "soft"]) pairs.push([ink, ground]);
    for (const ground of ["paper", "card", "sunk", "tint"])
        for (const ink of ["accent", "good", "warn", "bad"]) pairs.push([ink, ground]);
    for (const step of [1, 2, 3, 4]) pairs.push(["ink", `busy-${step}`]);
    pairs.push(["on-accent", "accent"], ["good", "good-tint"], ["bad", "bad-tint"], ["paper", "ink"]);
    return pairs.map(([ink, ground]) => [ink, ground, ratio(ink, ground)]);
}"""


def test_the_colours_of_text_have_enough_contrast(browse):
    page, faint = browse("/days"), []
    for dark in (False, True):
        page.emulate_media(color_scheme="dark" if dark else "light")
        for chosen in ("", "light", "dark"):  # by the system, or by the switch of colours
            page.evaluate("chosen => { document.documentElement.dataset.theme = chosen; }", chosen)
            faint += [(dark, chosen, *each) for each in page.evaluate(CONTRASTS) if not each[2] >= 4.5]
    assert faint == []


def test_what_failed_while_nobody_watched_stands_on_every_page_until_it_goes_well(served):
    note = served.home / ".local" / "share" / "kept" / "failures.json"
    served.add("The walnut harvest is on Tuesday.")
    assert "was not done" not in served.ask("GET", "/")[2]
    note.write_text(json.dumps([["night check", "2026-11-20T02:30:00.000Z", "2 rows are <b>damaged</b>"]]), encoding="utf-8")
    for path in ("/", "/review"):
        text = served.ask("GET", path)[2]
        assert "<strong>Night check</strong> has failed since 2026-11-20: 2 rows are &lt;b&gt;damaged&lt;/b&gt;" in text
    note.unlink()
    assert "was not done" not in served.ask("GET", "/")[2]


def test_what_goes_wrong_is_told_on_a_page_with_the_navigation(served):
    for path, status, told in (
        ("/no-such-page", 404, "There is no such page"),
        ("/memories/0000000000", 404, "No memory"),
        ("/days/2026-02-31", 409, "2026-02-31"),
    ):
        found, _, body = served.ask("GET", path)
        assert (found, 'aria-label="Pages"' in body, told in body) == (status, True, True), path
