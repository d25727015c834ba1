//! Why there is no such card, each reason with the way out.

use std::path::PathBuf;

/// What stands between a name and a card.
#[derive(Debug, thiserror::Error)]
pub enum CardError {
    /// No card goes by the name.
    #[error("there is no card named '{name}'")]
    Unknown {
        /// What the user typed.
        name: String,
        /// Names like it, best first.
        similar: Vec<&'static str>,
    },
    /// A card's file cannot be read.
    #[error("cannot read the card {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A card's file does not describe a card.
    #[error("{}: {problem}", path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        problem: String,
    },
}

impl CardError {
    /// What the user can do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Unknown { similar, .. } if similar.is_empty() => {
                "'oomph doc' lists the cards; a card of your own is a TOML file: --gpu ./mycard.toml".into()
            }
            Self::Unknown { similar, .. } => format!("did you mean {}?", similar.join(" or ")),
            Self::File { .. } => "is the path right? it is looked up from here".into(),
            Self::Text { .. } => "'oomph doc h200' shows every field a card has".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_like_it_come_before_the_list() {
        let unknown = |similar: &[&'static str]| CardError::Unknown { name: "h20".into(), similar: similar.to_vec() };
        assert_eq!(unknown(&["h200", "b200"]).hint(), "did you mean h200 or b200?");
        assert!(unknown(&[]).hint().contains("'oomph doc'"));
    }
}
