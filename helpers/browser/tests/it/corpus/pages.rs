//! Pages that go elsewhere, come late, are very large, or are no pages at all.

use super::{Case, does, has, refuses};

#[test]
fn pages_are_told_as_they_are() {
    super::check(CASES);
}

pub const CASES: &[Case] = &[
    Case {
        name: "redirects",
        html: "<a href=/redirect>Go</a>",
        steps: &[does(
            "click",
            &["text=Go"],
            "clicked link \"Go\": it opened another page\nurl: {site}/second.html\ntitle: Second\nstatus: 200 OK",
        )],
    },
    Case {
        name: "lost",
        html: "<a href=/nowhere>Go</a>",
        steps: &[does(
            "click",
            &["text=Go"],
            "clicked link \"Go\": it opened another page\nurl: {site}/nowhere\ntitle: Lost\nstatus: 404 Not Found",
        )],
    },
    Case {
        name: "no-content",
        html: "<a href=/204>Go</a>",
        steps: &[
            does(
                "click",
                &["text=Go"],
                "clicked link \"Go\"\nnote: the server answered 204 without a page, the page stayed as it was",
            ),
            does(
                "navigate",
                &["{site}/204"],
                "the server answered 204 without a page, the page stayed as it was\nurl: {url}\ntitle: no-content",
            ),
        ],
    },
    Case {
        name: "downloads",
        html: "<a href=/report.csv>Report</a><button onclick=\"const a = document.createElement('a'); a.href = window.URL.createObjectURL(new Blob(['hello'])); a.download = 'made.txt'; a.click()\">Made</button>",
        steps: &[
            does(
                "click",
                &["text=Report"],
                "clicked link \"Report\"\ndownload: saved as downloads/report.csv, 8 bytes",
            ),
            does(
                "click",
                &["text=Made"],
                "clicked button \"Made\"\ndownload: saved as downloads/made.txt, 5 bytes",
            ),
        ],
    },
    Case {
        name: "a-download-in-a-new-tab",
        html: "<a href=/report.csv target=_blank>Report</a><button>Here</button>",
        steps: &[
            does(
                "click",
                &["text=Report"],
                "clicked link \"Report\"\ndownload: saved as downloads/report.csv, 8 bytes",
            ),
            does("click", &["text=Here"], "clicked button \"Here\""),
        ],
    },
    Case {
        name: "popups",
        html: "<button onclick=\"open('/second.html', 'w', 'width=300,height=200')\">Window</button>",
        steps: &[
            does(
                "click",
                &["text=Window"],
                "clicked button \"Window\": it opened a new tab, which is the current one now\nurl: {site}/second.html\ntitle: Second\nstatus: 200",
            ),
            has(
                "click",
                &["#close"],
                &[
                    "clicked button \"Close me\": it closed the tab; browser_snapshot shows the one that is left",
                ],
            ),
            has(
                "snapshot",
                &[],
                &[
                    "url: {url}",
                    "tab: the one used last was closed, the current one is {url}",
                ],
            ),
        ],
    },
    Case {
        name: "link-to-a-new-tab",
        html: "<a href=/second.html target=_blank rel=noopener>New</a>",
        steps: &[has(
            "click",
            &["text=New"],
            &[
                "clicked link \"New\": it opened a new tab, which is the current one now",
                "title: Second",
            ],
        )],
    },
    Case {
        name: "popup-that-closes-itself",
        html: "<button onclick=\"const w = window.open('about:blank'); w.close(); this.textContent = 'Done'\">Blink</button>",
        steps: &[
            has("click", &["text=Blink"], &["clicked button \"Blink\""]),
            has("snapshot", &[], &["- button \"Done\""]),
        ],
    },
    Case {
        name: "history-without-a-page",
        html: "<button onclick=\"history.pushState({}, '', '/case/history-without-a-page?2')\">Next</button>",
        steps: &[does(
            "click",
            &["text=Next"],
            "clicked button \"Next\"\nurl: {url}?2",
        )],
    },
    Case {
        name: "mail-and-script-links",
        html: "<a href='mailto:a@b.example'>Mail</a><a href='javascript:void(document.title = \"Ran\")'>Run</a>",
        steps: &[
            has("click", &["text=Mail"], &["clicked link \"Mail\""]),
            has("click", &["text=Run"], &["clicked link \"Run\""]),
            has("snapshot", &[], &["title: Ran"]),
        ],
    },
    Case {
        name: "a-form-that-is-sent",
        html: "<form action=/second.html><input name=q aria-label=Query value=1><button>Send</button></form>",
        steps: &[does(
            "click",
            &["text=Send"],
            "clicked button \"Send\": it opened another page\nurl: {site}/second.html?q=1\ntitle: Second\nstatus: 200 OK",
        )],
    },
    Case {
        name: "goes-elsewhere-after-an-answer",
        html: "<button onclick=\"fetch('/slow').then(() => { location.href = '/second.html' })\">Save</button>",
        steps: &[has(
            "click",
            &["text=Save"],
            &[
                "clicked button \"Save\": it opened another page",
                "title: Second",
            ],
        )],
    },
    Case {
        name: "slow-subresource",
        html: "<button onclick=\"location.href = '/hanging-image'\">Slow</button>",
        steps: &[has(
            "click",
            &["text=Slow"],
            &[
                "clicked button \"Slow\": it opened another page",
                "title: Hanging",
                "still loading: the page is usable, parts of it are missing",
            ],
        )],
    },
    Case {
        name: "reloads-while-it-is-read",
        html: "<h1>Reloading</h1><script>const n = Number(sessionStorage.n || 0); sessionStorage.n = n + 1; if (n < 12) setTimeout(() => location.reload(), 40); else document.querySelector('h1').textContent = 'Settled'</script>",
        steps: &[
            has("snapshot", &[], &["title: reloads-while-it-is-read"]),
            has("click", &["text=Settled"], &["clicked heading \"Settled\""]),
        ],
    },
    Case {
        name: "twenty-thousand-nodes",
        html: "<ul id=list></ul><button id=a onclick=\"this.textContent = 'Hit'\">Last</button><script>list.innerHTML = Array.from({length: 10000}, (_, n) => `<li>Row ${n}</li>`).join('')</script>",
        steps: &[
            has("snapshot", &[], &["- list:", "  - listitem: Row 0"]),
            does(
                "click",
                &["role=button[name=\"Last\"]"],
                "clicked button \"Last\"",
            ),
            does("eval", &["return a.textContent"], "\"Hit\""),
        ],
    },
    Case {
        name: "lone-surrogates",
        html: "<button id=a>x</button><input id=b aria-label=Field><script>a.textContent = 'Half \\ud83d!'; b.value = 'low \\ude00'; document.title = 'T \\udc00'</script>",
        steps: &[
            does(
                "snapshot",
                &[],
                "url: {url}\ntitle: T \u{fffd}\n\n- button \"Half \u{fffd}!\" [target=#a]\n- textbox \"Field\": low \u{fffd}",
            ),
            does("click", &["#a"], "clicked button \"Half \u{fffd}!\""),
            does(
                "type",
                &["#b", "a"],
                "typed 1 character into textbox \"Field\"\nvalue: \"alow \u{fffd}\"",
            ),
        ],
    },
    Case {
        name: "refused-addresses",
        html: "<p>Here</p>",
        steps: &[
            refuses(
                "navigate",
                &["file:///etc/passwd"],
                "file: addresses can't be opened; allowed are http:, https: and about:blank",
            ),
            refuses(
                "navigate",
                &["javascript:alert(1)"],
                "javascript: addresses can't be opened; allowed are http:, https: and about:blank",
            ),
            refuses(
                "navigate",
                &["chrome://version"],
                "chrome: addresses can't be opened; allowed are http:, https: and about:blank",
            ),
            refuses(
                "navigate",
                &["http://127.0.0.1:1/"],
                "http://127.0.0.1:1/ could not be opened: net::ERR_UNSAFE_PORT",
            ),
        ],
    },
    Case {
        name: "no-html",
        html: "<p>Here</p>",
        steps: &[
            has("navigate", &["{site}/slow"], &["url: {site}/slow"]),
            has("snapshot", &[], &["url: {site}/slow"]),
            does("eval", &["return document.contentType"], "\"text/plain\""),
        ],
    },
    Case {
        name: "a-frameset",
        html: "<html><head><title>Frames</title></head><frameset cols=50%,50%><frame src=/second.html name=left><frame src=/second.html name=right></frameset></html>",
        steps: &[
            has("snapshot", &[], &["title: Frames"]),
            has(
                "click",
                &["text=Close me >> nth=1"],
                &["clicked button \"Close me\""],
            ),
        ],
    },
    Case {
        name: "written-anew",
        html: "<button onclick=\"document.open(); document.write('<title>New</title><button>Other</button>'); document.close()\">Write</button>",
        steps: &[
            has("click", &["text=Write"], &["clicked button \"Write\""]),
            has("click", &["text=Other"], &["clicked button \"Other\""]),
        ],
    },
    Case {
        name: "a-picture-of-a-tall-page",
        html: "<body style='margin:0'><div style='height:9000px;background:linear-gradient(red,blue)'></div>",
        steps: &[has(
            "screenshot",
            &[],
            &["screenshots/latest.jpg", "url: {url}"],
        )],
    },
    Case {
        name: "an-endless-animation",
        html: "<style>@keyframes turn{to{transform:rotate(1turn)}}#spin{width:50px;height:50px;background:red;animation:turn 1s linear infinite}</style><div id=spin></div><button id=a>Still</button>",
        steps: &[
            has("screenshot", &[], &["screenshots/latest.jpg"]),
            does("click", &["#a"], "clicked button \"Still\""),
        ],
    },
];
