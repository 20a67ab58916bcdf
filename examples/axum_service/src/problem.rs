//! What a request is told that cannot be served.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use leasehold::{Error, ErrorKind};
use serde::Serialize;

/// A status, and a sentence for the caller.
#[derive(Debug)]
pub struct Problem {
    status: StatusCode,
    sentence: &'static str,
}

#[derive(Serialize)]
struct Body {
    error: &'static str,
}

impl Problem {
    pub fn new(status: StatusCode, sentence: &'static str) -> Self {
        Self { status, sentence }
    }
}

impl From<Error> for Problem {
    /// The store's own words are for the log alone: they may name hosts, files and tasks.
    fn from(error: Error) -> Self {
        tracing::error!(?error, "the store failed a request");
        match error.kind() {
            ErrorKind::Unavailable => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "the store does not answer just now: try again",
            ),
            ErrorKind::Invalid
            | ErrorKind::Corrupt
            | ErrorKind::Unsupported
            | ErrorKind::Internal => {
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "the service is at fault")
            }
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(Body { error: self.sentence })).into_response();
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_store_that_fails_is_told_without_its_words() {
        use ErrorKind::{Corrupt, Internal, Invalid, Unavailable, Unsupported};
        for (kind, status) in [
            (Unavailable, 503),
            (Invalid, 500),
            (Corrupt, 500),
            (Unsupported, 500),
            (Internal, 500),
        ] {
            let cause = std::io::Error::other("secret host");
            let error = Error::new(kind, "secret file").with_source(cause);
            let response = Problem::from(error).into_response();
            assert_eq!(response.status(), status, "{kind:?}");
            let again = response.headers().contains_key(header::RETRY_AFTER);
            assert_eq!(again, kind == Unavailable, "{kind:?}");
            let body =
                axum::body::to_bytes(response.into_body(), 1_000).await.expect("it is short");
            let text = String::from_utf8_lossy(&body);
            assert!(text.starts_with("{\"error\":\"") && !text.contains("secret"), "{text}");
        }
    }
}
