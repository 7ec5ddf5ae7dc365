//! Images on their way, so that nobody takes a long wait for a hang.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use bollard::models::CreateImageInfo;
use sandbox::size_text;

/// Which images are being fetched, and how far each is.
#[derive(Default)]
pub(crate) struct Fetches(Mutex<BTreeMap<String, Layers>>);

/// Bytes that came and bytes there are, of each layer that said so.
type Layers = BTreeMap<String, (u64, u64)>;

/// One image on its way; forgotten when this is dropped.
pub(crate) struct Fetch<'a> {
    fetches: &'a Fetches,
    image: String,
}

impl Fetches {
    pub(crate) fn begin(&self, image: &str) -> Fetch<'_> {
        self.lock().insert(image.to_owned(), Layers::new());
        Fetch {
            fetches: self,
            image: image.to_owned(),
        }
    }

    /// A sentence about one image.
    pub(crate) fn of(&self, image: &str) -> Option<String> {
        self.lock().get(image).map(|layers| sentence(image, layers))
    }

    /// A sentence about each.
    pub(crate) fn all(&self) -> Vec<String> {
        let fetches = self.lock();
        fetches
            .iter()
            .map(|(image, layers)| sentence(image, layers))
            .collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Layers>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn sentence(image: &str, layers: &Layers) -> String {
    let (came, whole) = layers.values().fold((0, 0), |(came, whole), layer| {
        (came + layer.0, whole + layer.1)
    });
    if whole == 0 {
        return format!("fetching the image {image}");
    }
    format!(
        "fetching the image {image}: {} of {}",
        size_text(came),
        size_text(whole)
    )
}

impl Fetch<'_> {
    /// Takes in what the engine says.
    pub(crate) fn step(&self, step: &CreateImageInfo) {
        // While it is unpacked, the same layer is counted once more from its beginning; it is here already.
        let (Some(layer), Some("Downloading"), Some(detail)) =
            (&step.id, step.status.as_deref(), &step.progress_detail)
        else {
            return;
        };
        let number = |count: Option<i64>| count.and_then(|count| u64::try_from(count).ok());
        if let (Some(came), Some(whole)) = (number(detail.current), number(detail.total))
            && let Some(layers) = self.fetches.lock().get_mut(&self.image)
        {
            layers.insert(layer.clone(), (came.min(whole), whole));
        }
    }
}

impl Drop for Fetch<'_> {
    fn drop(&mut self) {
        self.fetches.lock().remove(&self.image);
    }
}

#[cfg(test)]
mod tests {
    use bollard::models::ProgressDetail;

    use super::*;

    fn step(layer: &str, status: &str, came: i64, whole: i64) -> CreateImageInfo {
        CreateImageInfo {
            id: Some(layer.to_owned()),
            status: Some(status.to_owned()),
            progress_detail: Some(ProgressDetail {
                current: Some(came),
                total: Some(whole),
            }),
            ..CreateImageInfo::default()
        }
    }

    #[test]
    fn who_waits_for_an_image_reads_how_far_it_is_until_it_is_here() {
        let fetches = Fetches::default();
        assert_eq!(fetches.of("debian"), None);
        let fetch = fetches.begin("debian");
        assert_eq!(fetches.of("debian").unwrap(), "fetching the image debian");
        fetch.step(&step("a", "Downloading", 1 << 20, 4 << 20));
        fetch.step(&step("b", "Downloading", 2 << 20, 6 << 20));
        fetch.step(&step("a", "Downloading", 4 << 20, 4 << 20));
        fetch.step(&step("a", "Extracting", 0, 4 << 20));
        fetch.step(&step("c", "Downloading", -1, -1));
        assert_eq!(fetches.all(), ["fetching the image debian: 6 MB of 10 MB"]);
        drop(fetch);
        assert!(fetches.all().is_empty());
    }
}
