//! Scrolling: which container moves, how far, and what remains.

use super::{Case, does, has, refuses};

#[test]
fn the_right_container_moves() {
    super::check(CASES);
}

pub const CASES: &[Case] = &[
    Case {
        name: "window-alone",
        html: "<body style='margin:0'><div style='height:2000px'></div>",
        steps: &[
            has("scroll", &["down"], &["container: the window"]),
            does("eval", &["return scrollY === innerHeight"], "true"),
            does(
                "eval",
                &["scrollTo(0, 9999); return scrollY + innerHeight"],
                "2000",
            ),
            has(
                "scroll",
                &["down"],
                &["scrolled nothing: this is the end, there is no more to scroll down"],
            ),
            has("scroll", &["up"], &["container: the window"]),
            does("eval", &["return scrollY + 2 * innerHeight"], "2000"),
        ],
    },
    Case {
        name: "panel-in-a-page-that-scrolls-too",
        html: "<body style='margin:0;height:3000px'><div id=log style='height:400px;overflow-y:scroll'><div style='height:1000px'></div></div>",
        steps: &[
            does(
                "scroll",
                &["down"],
                "scrolled down by 400 px\ncontainer: the panel <div id=\"log\">…</div> [target=#log]\nremaining: up 400 px, down 200 px, left 0 px, right 0 px",
            ),
            does("eval", &["return scrollY"], "0"),
        ],
    },
    Case {
        name: "body-as-the-panel",
        html: "<style>html,body{height:100%;margin:0;overflow:hidden}main{height:100%;overflow:auto}</style><main aria-label=App><div style='height:3000px'></div></main>",
        steps: &[has(
            "scroll",
            &["down"],
            &["container: the panel main \"App\" [target=main]"],
        )],
    },
    Case {
        name: "a-hidden-panel-is-none",
        html: "<body style='margin:0;height:3000px'><div style='visibility:hidden;height:300px;overflow:auto'><div style='height:900px'></div></div>",
        steps: &[has("scroll", &["down"], &["container: the window"])],
    },
    Case {
        name: "a-covered-panel-is-none",
        html: "<body style='margin:0'><div id=under style='height:300px;width:400px;overflow:auto'><div style='height:900px'></div></div><div role=dialog aria-label=Box style='position:fixed;inset:0;overflow:auto;background:white'><div style='height:5000px'></div></div>",
        steps: &[has(
            "scroll",
            &["down"],
            &["container: the panel dialog \"Box\" [target=div:nth-of-type(2)]"],
        )],
    },
    Case {
        name: "the-larger-panel",
        html: "<body style='margin:0'><div style='display:flex'><nav aria-label=Side style='width:150px;height:400px;overflow:auto'><div style='height:2000px'></div></nav><main aria-label=Text style='width:600px;height:400px;overflow:auto'><div style='height:2000px'></div></main></div>",
        steps: &[
            has(
                "scroll",
                &["down"],
                &[
                    "scrolled down by 400 px",
                    "container: the panel main \"Text\" [target=main]",
                ],
            ),
            has(
                "scroll",
                &["down", "nav"],
                &[
                    "scrolled down by 400 px",
                    "container: the panel navigation \"Side\" [target=nav]",
                ],
            ),
        ],
    },
    Case {
        name: "the-panel-around-a-target",
        html: "<div id=outer style='height:300px;overflow:auto'><div style='height:2000px'><div id=inner style='height:100px;overflow:auto'><p id=text style='height:500px'>Text</p></div></div></div>",
        steps: &[has(
            "scroll",
            &["down", "#text"],
            &[
                "scrolled down by 100 px",
                "container: the panel <div id=\"inner\">…</div> [target=#inner]",
            ],
        )],
    },
    Case {
        name: "sideways",
        html: "<div id=strip style='width:400px;overflow-x:auto'><div style='width:3000px;height:100px'></div></div>",
        steps: &[
            has(
                "scroll",
                &["right"],
                &[
                    "scrolled right by 400 px",
                    "remaining: up 0 px, down 0 px, left 400 px, right 2200 px",
                ],
            ),
            has("scroll", &["left"], &["scrolled left by 400 px"]),
            does(
                "scroll",
                &["left"],
                "scrolled nothing: this is the end, there is no more to scroll left\ncontainer: the panel <div id=\"strip\">…</div> [target=#strip]\nremaining: up 0 px, down 0 px, left 0 px, right 2600 px",
            ),
        ],
    },
    Case {
        name: "from-right-to-left",
        html: "<div id=strip dir=rtl style='width:400px;overflow-x:auto'><div style='width:1000px;height:100px'></div></div>",
        steps: &[has(
            "scroll",
            &["left"],
            &[
                "scrolled left by 400 px",
                "remaining: up 0 px, down 0 px, left 200 px, right 400 px",
            ],
        )],
    },
    Case {
        name: "smooth-and-snapping",
        html: "<style>html{scroll-behavior:smooth}main{height:300px;overflow-y:auto;scroll-snap-type:y mandatory}section{height:300px;scroll-snap-align:start}</style><main aria-label=Slides><section>1</section><section>2</section><section>3</section></main>",
        steps: &[has(
            "scroll",
            &["down"],
            &[
                "scrolled down by 300 px",
                "remaining: up 300 px, down 300 px, left 0 px, right 0 px",
            ],
        )],
    },
    Case {
        name: "a-window-that-is-held",
        html: "<style>body{overflow:hidden;margin:0}</style><div style='height:3000px'></div>",
        steps: &[has(
            "scroll",
            &["down"],
            &[
                "scrolled nothing: the page keeps its window from scrolling",
                "container: the window",
            ],
        )],
    },
    Case {
        name: "nothing-to-scroll",
        html: "<p>Short</p>",
        steps: &[does(
            "scroll",
            &["down"],
            "scrolled nothing: nothing here scrolls down\ncontainer: the window\nremaining: up 0 px, down 0 px, left 0 px, right 0 px",
        )],
    },
    Case {
        name: "a-page-that-puts-it-back",
        html: "<body style='margin:0;height:3000px'><script>addEventListener('scroll', () => scrollTo(0, 0))</script>",
        steps: &[has(
            "scroll",
            &["down"],
            &["scrolled nothing: the page put it back"],
        )],
    },
    Case {
        name: "a-list-that-grows",
        html: "<main aria-label=Feed style='height:300px;overflow:auto'><div id=list style='height:600px'></div></main><script>document.querySelector('main').addEventListener('scroll', async () => { await fetch('/slow'); list.style.height = '2000px' }, {once: true})</script>",
        steps: &[does(
            "scroll",
            &["down"],
            "scrolled down by 300 px\ncontainer: the panel main \"Feed\" [target=main]\nremaining: up 300 px, down 1400 px, left 0 px, right 0 px",
        )],
    },
    Case {
        name: "a-frame-that-scrolls",
        html: "<body style='margin:0'><iframe title=Doc width=500 height=300 style='border:0' srcdoc=\"<body style='margin:0;height:1000px'>\"></iframe>",
        steps: &[does(
            "scroll",
            &["down"],
            "scrolled down by 300 px\ncontainer: the window of a frame\nremaining: up 300 px, down 400 px, left 0 px, right 0 px",
        )],
    },
    Case {
        name: "no-such-panel",
        html: "<p>Short</p>",
        steps: &[refuses(
            "scroll",
            &["down", "#panel"],
            "no element matches #panel\nbrowser_snapshot shows what is there now",
        )],
    },
];
