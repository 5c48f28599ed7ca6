//! Errors of containers' images, in words for the person who named one.

use rqps_plan::Dbms;

#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    #[error(
        "'{image}' is no container's image: {reason}. Name a file made by 'docker save -o FILE NAME', or \
         an OCI layout in a tar archive"
    )]
    NotOne { image: String, reason: String },
    #[error("'{image}' is compressed as a whole. Decompress it, as with {how}")]
    Compressed { image: String, how: &'static str },
    #[error("image '{image}' is incomplete: {reason}. It is cut off or was damaged; save it again")]
    Damaged { image: String, reason: String },
    #[error(
        "image '{image}' is refused: {what} has the SHA-256 {found}, and it is named by {expected}. Save it \
         again; if that stays, do not trust where it is from"
    )]
    Digest { image: String, what: String, expected: String, found: String },
    #[error("'{image}' has several images ({}). Save one, as with 'docker save -o FILE {}'", .names.join(", "), .names[0])]
    Several { image: String, names: Vec<String> },
    #[error(
        "image '{image}' is for {found}, and this machine needs {wanted}. Get the image for it, as with \
         'docker pull --platform {wanted} NAME'"
    )]
    Platform { image: String, found: String, wanted: String },
    #[error(
        "image '{image}' is refused: it unpacks to more than {} GB, which no server needs. Name an image \
         with little beside the server", most / 1_000_000_000
    )]
    TooLarge { image: String, most: u64 },
    #[error(
        "image '{image}' has no server of {dbms}: it has none of {}. Name an image with one of these", 
        .programs.join(", ")
    )]
    NoServer { image: String, dbms: Dbms, programs: &'static [&'static str] },
    #[error("image '{image}' has {found}, not {wanted}. Use {found}@image:{image}")]
    OtherDbms { image: String, found: Dbms, wanted: Dbms },
    #[error(
        "the server in image '{image}' cannot be started: {reason}. Run the container, and give its URL"
    )]
    NoStart { image: String, reason: String },
    #[error(
        "cannot get image '{0}': neither docker nor podman is on PATH. Install one, as with 'apt-get \
         install podman', or name a file as in image:./FILE.tar, made elsewhere by 'docker save -o FILE.tar {0}'"
    )]
    NoEngine(String),
    #[error(
        "cannot get image '{image}': {}. rqps pulls no image: get it, as with 'docker pull {image}'",
        .reasons.join("; ")
    )]
    NotThere { image: String, reasons: Vec<String> },
}

impl ImageError {
    /// Whether the request makes no sense; otherwise something failed.
    pub fn is_refusal(&self) -> bool {
        !matches!(self, ImageError::Damaged { .. } | ImageError::Digest { .. })
    }
}
