fn main() {
    for input in [
        "I've created the chart:\n\n**Chart:** MEDIA:/workspace/out/chart.png\n\nLet me know!",
        "MEDIA:/workspace/a.png is ready. See also /workspace/readme.md for more. It has 3 parts (a, b and c).",
        "1. **Report** – MEDIA:/w/r.pdf\n2. **Data** – MEDIA:/w/d.csv\n",
        "| File | Link |\n|---|---|\n| chart | MEDIA:/w/c.png |\n",
        "📎 MEDIA:/w/c.png",
        "Done! ✅ MEDIA:/w/c.png ✅",
        "MEDIA:/w/c.png\n\n\n\nMEDIA:/w/d.png\n\n\nbye",
        "Files: `MEDIA:/w/c.png`, `MEDIA:/w/d.png`",
        "MEDIA:/w/My Report v1.2 final.pdf, MEDIA:/w/x y.csv",
        "MEDIA:'/w/it's.png'",
        "<MEDIA:/w/c.png>",
        "Here: ![](MEDIA:/w/c.png)\nfoo",
        "MEDIA:/w/a.png – the chart",
        "\"MEDIA:/w/a.png\"",
    ] {
        let p = tidings_markup::parse(input);
        println!("{input:?}\n   -> {:?}", p.text_with(&[]));
        for d in &p.directives {
            println!(
                "   pref {} {:?}",
                d.preferred(),
                d.readings
                    .iter()
                    .map(|r| (r.paths.clone(), r.rest.clone()))
                    .collect::<Vec<_>>()
            );
        }
    }
    let text = "Some words [with](https://e.x) links, and `code` here. ".repeat(20000);
    let t = std::time::Instant::now();
    let p = tidings_markup::parse(&text);
    println!(
        "{} bytes one line {:?} {}",
        text.len(),
        t.elapsed(),
        p.text.len()
    );
    let text = "Some words [with](https://e.x) links, and `code` here.\n".repeat(20000);
    let t = std::time::Instant::now();
    let p = tidings_markup::parse(&text);
    println!("lines {:?} {}", t.elapsed(), p.text.len());
    let text = format!("MEDIA:/w/a.png {}", "word, ".repeat(1300));
    let t = std::time::Instant::now();
    let p = tidings_markup::parse(&text);
    println!("long prose after {:?} {}", t.elapsed(), p.directives.len());
    for bad in [
        "[",
        "`",
        "` `` ",
        "MEDIA:/a ",
        "(",
        "*",
        "\"",
        "[[",
        "[a](",
        "MEDIA:/a.png(",
        "**MEDIA:/a",
    ] {
        let text = bad.repeat(40000 / bad.len());
        let t = std::time::Instant::now();
        let p = tidings_markup::parse(&text);
        println!("{bad:?} {:?} {}", t.elapsed(), p.directives.len());
    }
    let md = "word **bold** `x` [l](https://e.x)\n".repeat(20000);
    let t = std::time::Instant::now();
    let n = tidings_markup::split_markdown(&md, waybill::Limit::Utf16(4096)).len();
    println!("split_markdown {} {:?}", n, t.elapsed());
    let t = std::time::Instant::now();
    let n = tidings_markup::split(&tidings_markup::rich(&md), waybill::Limit::Utf16(4096)).len();
    println!("split {} {:?}", n, t.elapsed());
}
