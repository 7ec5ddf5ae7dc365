//! Fields of a JSON object, taken out one by one; a wrong type is refused with the field's whole name.

use serde_json::{Map, Value};

use super::Refusal;

/// An object, and where it stands.
pub(crate) struct Fields {
    place: String,
    left: Map<String, Value>,
}

impl Fields {
    /// The object itself; `place` is empty for the whole request.
    pub(crate) fn of(value: Value, place: &str) -> Result<Self, Refusal> {
        match value {
            Value::Object(left) => Ok(Self {
                place: place.to_owned(),
                left,
            }),
            other @ (Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)) => Err(wrong(place, "an object", &other)),
        }
    }

    /// A field's whole name.
    pub(crate) fn name(&self, field: &str) -> String {
        if self.place.is_empty() {
            field.to_owned()
        } else {
            format!("{}.{field}", self.place)
        }
    }

    /// A field, if it is there and says something.
    pub(crate) fn take(&mut self, field: &str) -> Option<Value> {
        self.left.remove(field).filter(|value| !value.is_null())
    }

    pub(crate) fn string(&mut self, field: &str) -> Result<Option<String>, Refusal> {
        match self.take(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(wrong(&self.name(field), "a string", &other)),
        }
    }

    pub(crate) fn bool(&mut self, field: &str) -> Result<Option<bool>, Refusal> {
        match self.take(field) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(value)),
            Some(other) => Err(wrong(&self.name(field), "true or false", &other)),
        }
    }

    pub(crate) fn whole(&mut self, field: &str) -> Result<Option<i64>, Refusal> {
        match self.take(field) {
            None => Ok(None),
            Some(value) => match value.as_i64() {
                Some(number) => Ok(Some(number)),
                None => Err(wrong(&self.name(field), "a whole number", &value)),
            },
        }
    }

    pub(crate) fn number(&mut self, field: &str) -> Result<Option<f64>, Refusal> {
        match self.take(field) {
            None => Ok(None),
            Some(value) => match value.as_f64() {
                Some(number) => Ok(Some(number)),
                None => Err(wrong(&self.name(field), "a number", &value)),
            },
        }
    }

    pub(crate) fn array(&mut self, field: &str) -> Result<Option<Vec<Value>>, Refusal> {
        match self.take(field) {
            None => Ok(None),
            Some(Value::Array(values)) => Ok(Some(values)),
            Some(other) => Err(wrong(&self.name(field), "an array", &other)),
        }
    }

    pub(crate) fn object(&mut self, field: &str) -> Result<Option<Self>, Refusal> {
        let name = self.name(field);
        self.take(field)
            .map(|value| Self::of(value, &name))
            .transpose()
    }

    /// A field that must be there.
    pub(crate) fn missing(&self, field: &str) -> Refusal {
        let name = self.name(field);
        let text = format!("'{name}' is missing");
        Refusal::field(name, text)
    }
}

/// The refusal of a value of another type.
pub(crate) fn wrong(name: &str, expected: &str, found: &Value) -> Refusal {
    let found = match found {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    let shown = if name.is_empty() { "the request" } else { name };
    Refusal::field(
        name,
        format!("'{shown}' must be {expected}, and is {found}"),
    )
}
