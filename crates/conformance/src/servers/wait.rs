//! [`until`]: a bounded wait for a condition of another process.

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, timeout};

use super::ServerError;

/// How long passes between two looks; a server comes up in about twice that.
const LOOK: Duration = Duration::from_millis(10);

/// Looks again and again until `look` has an answer, for at most `limit`. What it says instead
/// of an answer is what is still amiss; the last of these is quoted when the time is over.
///
/// # Errors
/// When `limit` has passed.
///
/// # Cancel safety
/// Nothing is lost but the looking.
pub async fn until<T, F>(
    what: &str,
    limit: Duration,
    mut look: impl FnMut() -> F,
) -> Result<T, ServerError>
where
    F: Future<Output = Result<T, String>>,
{
    let mut last = String::from("nothing was seen");
    let looking = async {
        let mut pace = interval(LOOK);
        // A slow look must not be followed by a burst of quick ones.
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            pace.tick().await;
            match look().await {
                Ok(answer) => return answer,
                Err(amiss) => last = amiss,
            }
        }
    };
    let answer = timeout(limit, looking).await;
    answer.map_err(|_| ServerError::new(format!("{what}: not within {limit:?}; last seen: {last}")))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    async fn the_first_answer_ends_the_wait() {
        let looks = Cell::new(0);
        let answer = until("it is three", Duration::from_secs(30), || async {
            looks.set(looks.get() + 1);
            if looks.get() == 3 { Ok("three") } else { Err("not yet".to_owned()) }
        });
        assert_eq!(answer.await.expect("the third look has it"), "three");
        assert_eq!(looks.get(), 3);
    }

    #[tokio::test]
    async fn the_limit_ends_the_wait_and_tells_what_was_amiss() {
        let limit = Duration::from_millis(50);
        let never = || async { Err::<(), _>("it is red".to_owned()) };
        let text = until("it is green", limit, never).await.expect_err("never").to_string();
        assert_eq!(text, "it is green: not within 50ms; last seen: it is red");
        // Also while a look does not come back.
        let hangs = || std::future::pending::<Result<(), String>>();
        let text = until("it is green", limit, hangs).await.expect_err("never").to_string();
        assert_eq!(text, "it is green: not within 50ms; last seen: nothing was seen");
    }
}
