//! A bar chart as a PNG, drawn by a shell and awk alone: every image has those, and few have more.

/// Where it lies in the sandbox.
pub(crate) const PATH: &str = "/workspace/chart.png";
/// What the script says when it is written.
pub(crate) const DONE: &str = "The chart is written to";

const EXAMPLE: &[f64] = &[12.0, 19.0, 7.0, 24.0, 16.0];
const PROGRAM: &str = include_str!("chart.awk");

// 480 × 280 pixels of four bits, a filter byte per row, stored in two blocks.
const PIXELS: usize = 280 * (1 + 480 / 2);
const SIZE: usize = 8 + 25 + (12 + 33) + (12 + 2 + 2 * 5 + PIXELS + 4) + 12;

/// A script that draws, and words for under the picture.
pub(crate) struct Script {
    pub(crate) command: String,
    pub(crate) caption: String,
}

pub(crate) fn script(numbers: &[f64]) -> Script {
    let (numbers, what) = if numbers.is_empty() {
        (EXAMPLE, "Example numbers")
    } else {
        (numbers, "Your numbers")
    };
    let values: Vec<String> = numbers.iter().map(f64::to_string).collect();
    let labels: Vec<String> = numbers.iter().map(|number| label(*number)).collect();
    Script {
        command: command(&values.join(" "), &labels.join(" "), PATH),
        caption: format!("{what}: {}", values.join(", ")),
    }
}

/// awk writes `printf` commands and a shell runs them, since awk itself can't be trusted with a zero byte.
fn command(values: &str, labels: &str, path: &str) -> String {
    let failed =
        "echo 'the picture is not whole: this sandbox lacks awk, or its disk is full' >&2; exit 1";
    format!(
        "# a bar chart, drawn by awk alone\n\
         awk -v values='{values}' -v labels='{labels}' '{PROGRAM}' | sh > {path} || exit 1\n\
         [ \"$(wc -c < {path})\" -eq {SIZE} ] || {{ {failed}; }}\n\
         echo '{DONE} {path}'"
    )
}

/// At most six characters, all of which the chart's font has.
fn label(number: f64) -> String {
    let (scaled, unit) = match number.abs() {
        size if size >= 1e12 => (number / 1e12, "T"),
        size if size >= 1e9 => (number / 1e9, "B"),
        size if size >= 1e6 => (number / 1e6, "M"),
        size if size >= 1e4 => (number / 1e3, "k"),
        _ => (number, ""),
    };
    let digits = if scaled.abs() >= 100.0 { 0 } else { 1 };
    let text = format!("{scaled:.digits$}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    let text = if text == "-0" { "0" } else { text };
    format!("{text}{unit}")
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::*;

    #[test]
    fn labels_are_short() {
        for (number, expected) in [
            (0.0, "0"),
            (3.0, "3"),
            (-0.01, "0"),
            (2.5, "2.5"),
            (-1.5, "-1.5"),
            (123.4, "123"),
            (9999.0, "9999"),
            (12_345.0, "12.3k"),
            (2e6, "2M"),
            (-999_999.0, "-1000k"),
            (1.5e9, "1.5B"),
            (1e12, "1T"),
        ] {
            assert_eq!(label(number), expected, "{number}");
        }
    }

    fn installed(awk: &str) -> bool {
        let probe = format!("{awk} 'BEGIN {{ exit 0 }}' 2>/dev/null");
        Command::new("sh")
            .args(["-c", &probe])
            .status()
            .unwrap()
            .success()
    }

    /// The quickest where it is installed; the others have a test of their own.
    fn some_awk() -> &'static str {
        if installed("mawk") { "mawk" } else { "awk" }
    }

    /// Runs the script as a sandbox would, with its folder in place of /workspace.
    fn drawn(numbers: &[f64], awk: &str) -> (u32, u32, Vec<u8>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chart.png");
        let command = script(numbers)
            .command
            .replace(PATH, path.to_str().unwrap())
            .replacen("awk -v", &format!("{awk} -v"), 1);
        let begun = std::time::Instant::now();
        let ran = Command::new("sh").arg("-c").arg(&command).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(
            ran.status.success() && said.contains(DONE),
            "{said} {}",
            String::from_utf8_lossy(&ran.stderr)
        );
        eprintln!("{awk} took {:?}", begun.elapsed());
        decoded(&path)
    }

    fn decoded(path: &Path) -> (u32, u32, Vec<u8>) {
        let mut decoder =
            png::Decoder::new(std::io::BufReader::new(std::fs::File::open(path).unwrap()));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        reader.finish().unwrap();
        (info.width, info.height, pixels)
    }

    /// How many pixels have the colour of the n-th bar.
    fn area(pixels: &[u8], colour: [u8; 3]) -> usize {
        pixels.chunks(3).filter(|pixel| *pixel == colour).count()
    }

    const FIRST: [u8; 3] = [37, 99, 235];
    const SECOND: [u8; 3] = [249, 115, 22];

    #[test]
    fn the_picture_is_a_chart_of_the_numbers() {
        let (width, height, pixels) = drawn(&[3.0, 6.0], some_awk());
        assert_eq!((width, height), (480, 280));
        let (first, second) = (area(&pixels, FIRST), area(&pixels, SECOND));
        assert!(
            first > 5000 && second.abs_diff(2 * first) < 500,
            "{first} {second}"
        );
        assert!(area(&pixels, [51, 65, 85]) > 700, "axes and labels");
    }

    #[test]
    fn odd_numbers_are_drawn_as_well() {
        for numbers in [
            &[][..],
            &[0.0],
            &[-5.0, 5.0],
            &[-1.0, -2.0],
            &[1e12, 1.0],
            &[0.001],
            &[1.0; 12],
        ] {
            drawn(numbers, some_awk());
        }
    }

    #[test]
    fn every_awk_that_is_here_draws_the_same() {
        let expected = drawn(&[3.0, -5.0, 8000.0, 1e7], "awk");
        for awk in ["mawk", "gawk", "original-awk", "busybox awk"] {
            if installed(awk) {
                assert_eq!(drawn(&[3.0, -5.0, 8000.0, 1e7], awk), expected, "{awk}");
            }
        }
    }

    #[test]
    fn a_sandbox_without_awk_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chart.png");
        let command = script(&[1.0])
            .command
            .replace(PATH, path.to_str().unwrap())
            .replacen("awk -v", "no-such-awk -v", 1);
        let ran = Command::new("sh").arg("-c").arg(&command).output().unwrap();
        assert!(!ran.status.success());
        assert!(String::from_utf8_lossy(&ran.stderr).contains("lacks awk"));
    }

    #[test]
    fn the_program_can_stand_in_single_quotes() {
        assert!(!PROGRAM.contains('\''));
    }
}
