//! What a backend tells of itself, on which every other case relies.

use leasehold_core::clause::{ENQ_8, GEN_9, GEN_10};
use leasehold_core::{CONTRACT_VERSION, Error, ErrorKind};

use crate::context::{Context, Stop};

pub(crate) async fn profile_matches(cx: &mut Context) -> Result<(), Stop> {
    let told = cx.actor("one").await?.backend().capabilities();
    let profile = cx.profile().clone();
    cx.check(GEN_9, "the features that the backend declares", told.features, profile.features);
    cx.check(GEN_9, "the backend's name", told.name, profile.name);
    cx.check(GEN_10, "the major version that is kept", told.contract.0, CONTRACT_VERSION.0);
    let checked = told.check_contract().map_err(|error| error.kind());
    cx.check(GEN_10, "the check of that version", checked, Ok(()));
    let follow_max = told.bounds.follow_max;
    cx.check_that(ENQ_8, "the most follow-ups of a change", follow_max >= 100, follow_max);

    let other = cx.actor("other").await?.backend().capabilities();
    cx.check(GEN_9, "what another handle tells", &other, &told);
    let mut foreign = told;
    foreign.contract.0 += 1;
    let refused = foreign.check_contract().as_ref().map_err(Error::kind).err();
    cx.check(GEN_10, "a backend of another major", refused, Some(ErrorKind::Unsupported));
    Ok(())
}
