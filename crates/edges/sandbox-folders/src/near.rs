//! "Did you mean": names that are like one that is missing.

/// How many names help; more is noise.
const MOST: usize = 5;

/// The names that are likest to a missing one, the likeliest first; at most five. Case does not count.
#[must_use]
pub fn near(missing: &str, names: Vec<String>) -> Vec<String> {
    let missing = missing.to_lowercase();
    let mut ranked: Vec<(f64, String)> = names
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&missing, &name.to_lowercase()), name))
        .collect();
    ranked.sort_by(|(one, name), (other, other_name)| {
        other.total_cmp(one).then_with(|| name.cmp(other_name))
    });
    ranked.truncate(MOST);
    ranked.into_iter().map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::near;

    #[test]
    fn the_likeliest_name_comes_first_and_five_are_enough() {
        let names = || {
            ["a", "b", "chart.png", "c", "d", "e", "Chart.PDF", "zebra"]
                .map(str::to_owned)
                .to_vec()
        };
        let found = near("chart.jpg", names());
        assert_eq!(found.len(), 5);
        assert_eq!(found[..2], ["chart.png", "Chart.PDF"]);
        assert_eq!(near("x", Vec::new()), Vec::<String>::new());
    }
}
