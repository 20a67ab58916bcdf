//! The runner itself: each verdict comes about, and is worth what it says.

use std::future::pending;
use std::sync::Arc;

use async_trait::async_trait;
use leasehold_core::clause::{ENQ_1, FENCE_2};
use leasehold_core::{Backend, ManualClock, MemoryBackend, TaskRef};

use super::*;
use crate::actor::Actor;
use crate::case::{Kind, Needs, Traits};
use crate::harness::{Faults, HarnessError, Link};
use crate::settings::Filter;
use crate::verdict::Word;

/// A memory backend whose harness lacks or says whatever a test wants.
#[derive(Default)]
struct Fake {
    lists: &'static str,
    no_clock: bool,
    no_world: bool,
    undeclared: bool,
    broken_close: bool,
    panics: bool,
}

#[async_trait]
impl Harness for Fake {
    fn profile(&self) -> Profile {
        assert!(!self.panics, "no profile today");
        let features = if self.undeclared { Features::empty() } else { Features::all() };
        Profile::new("memory", features).with_version("9.9.9").with_command("run it")
    }

    async fn world(&self, _case: &Case) -> Result<Box<dyn World>, HarnessError> {
        if self.no_world {
            return Err("the server is down".into());
        }
        let (no_clock, hand) = (self.no_clock, ManualClock::default());
        let memory = MemoryBackend::on_clock(hand.clone()).with_features(self.profile().features);
        let memory = Arc::new(memory);
        Ok(Box::new(FakeWorld { memory, hand, no_clock, broken_close: self.broken_close }))
    }

    fn known(&self) -> &str {
        self.lists
    }
}

struct FakeWorld {
    memory: Arc<MemoryBackend>,
    hand: ManualClock,
    no_clock: bool,
    broken_close: bool,
}

#[async_trait]
impl World for FakeWorld {
    async fn open(&self, _link: Link) -> Result<Arc<dyn Backend>, HarnessError> {
        Ok(self.memory.clone())
    }

    async fn shift(&self, by_ms: i64) -> Result<(), HarnessError> {
        if self.no_clock {
            return Err(MissingHook::MANUAL_CLOCK.into());
        }
        self.hand.shift(by_ms);
        Ok(())
    }

    async fn residue(&self) -> Result<Vec<String>, HarnessError> {
        Ok(Vec::new())
    }

    async fn dump(&self, task: &TaskRef) -> Option<String> {
        Some(format!("raw {}\nsecond line", task.id))
    }

    async fn close(self: Box<Self>) -> Result<(), HarnessError> {
        if self.broken_close { Err("it is stuck".into()) } else { Ok(()) }
    }
}

macro_rules! fake_cases {
    ($($id:literal $needs:expr, $provisional:literal, $body:ident;)*) => {
        const SUITE: &[Case] = &[$(
            Case::new(
                $id,
                &[FENCE_2],
                Traits {
                    needs: $needs,
                    kind: Kind::Named,
                    since: "0.1",
                    provisional: $provisional,
                },
                |cx| Box::pin($body(cx)),
            ),
        )*];
    };
}

fake_cases! {
    "good/pass" Needs::CORE, false, pass;
    "bad/fail" Needs::CORE, false, fail;
    "bad/stop" Needs::CORE, false, stop;
    "bad/panic" Needs::CORE, false, panic;
    "bad/hang" Needs::CORE, false, hang;
    "bad/empty" Needs::CORE, false, empty;
    "bad/never_fired" Needs::CORE, false, never_fired;
    "new/fail" Needs::CORE, true, fail;
    "real/pass" Needs::CORE.real_clock(), false, pass;
    "needs/faults" Needs::CORE.faults(), false, pass;
    "needs/limits" Needs::CORE.features(Features::LIMITS), false, fail;
    "needs/something_missing" Needs::CORE.lacking(), false, fail;
}

async fn pass(cx: &mut Context) -> Result<(), Stop> {
    cx.check(FENCE_2, "what is", 1, 1);
    Ok(())
}

async fn fail(cx: &mut Context) -> Result<(), Stop> {
    let (worker, rescuer) = (cx.actor("worker").await?, cx.actor("rescuer").await?);
    worker.enqueue(Actor::task("t")).await?;
    worker.run_one().await?;
    cx.shift(Actor::TTL_MS).await?;
    rescuer.rescue_one().await?;
    cx.check(FENCE_2, "what is", 1, 2);
    Ok(())
}

async fn stop(cx: &mut Context) -> Result<(), Stop> {
    fail(cx).await?;
    Err(Stop::because("no way on"))
}

async fn panic(_: &mut Context) -> Result<(), Stop> {
    panic!("out of {}", "order")
}

async fn hang(_: &mut Context) -> Result<(), Stop> {
    pending().await
}

async fn empty(cx: &mut Context) -> Result<(), Stop> {
    cx.check(ENQ_1, "another clause", 1, 1);
    Ok(())
}

async fn never_fired(cx: &mut Context) -> Result<(), Stop> {
    pass(cx).await?;
    Err(Stop::vacuous("the reply was never lost"))
}

async fn outcome(harness: &Fake, id: &str) -> Outcome {
    let plan = Plan::of(harness, &Settings::default(), SUITE).expect("a sound harness");
    prove(harness, SUITE.iter().find(|case| case.id == id).expect(id), &plan).await
}

async fn verdict(harness: &Fake, id: &str) -> Verdict {
    outcome(harness, id).await.verdict
}

fn why_stopped(verdict: Verdict) -> String {
    match verdict {
        Verdict::Stopped { why, .. } => why,
        other => panic!("not stopped: {other:?}"),
    }
}

const LISTS: &str = "
    [[known]]
    case = 'bad/fail'
    reason = 'next release'
    [[known]]
    case = 'good/pass'
    reason = 'was broken once'
    [[known]]
    case = 'bad/empty'
    reason = 'vacuous is never excused'
    [[waived]]
    case = 'needs/faults'
    reason = 'no hook'
    [[waived]]
    case = 'real/pass'
    reason = 'was open once'
";

#[tokio::test]
async fn pass_and_fail() {
    assert_eq!(verdict(&Fake::default(), "good/pass").await, Verdict::Pass);
    let failed = verdict(&Fake::default(), "bad/fail").await;
    let Verdict::Fail(faults) = &failed else { panic!("{failed:?}") };
    assert_eq!(faults.len(), 1);
    assert_eq!((failed.word(), failed.is_red()), (Word::Fail, true));
}

#[tokio::test]
async fn what_cannot_go_on_is_stopped_and_counts_as_a_fail() {
    let harness = Fake::default();
    let stopped = verdict(&harness, "bad/stop").await;
    assert!(matches!(&stopped, Verdict::Stopped { faults, .. } if faults.len() == 1));
    assert_eq!((stopped.word(), stopped.is_red()), (Word::Fail, true));
    assert_eq!(why_stopped(stopped), "no way on");
    let panicked = why_stopped(verdict(&harness, "bad/panic").await);
    assert_eq!(panicked, "the case panicked: out of order");
    let down = Fake { no_world: true, ..Fake::default() };
    let no_world = why_stopped(verdict(&down, "good/pass").await);
    assert_eq!(no_world, "the harness failed: the server is down");
    let stuck = Fake { broken_close: true, ..Fake::default() };
    let open = why_stopped(verdict(&stuck, "good/pass").await);
    assert_eq!(open, "the world did not close: it is stuck");
}

#[tokio::test(start_paused = true)]
async fn what_hangs_is_stopped_at_its_limit() {
    let hung = why_stopped(verdict(&Fake::default(), "bad/hang").await);
    assert_eq!(hung, "the case was not done after 60s");
}

#[tokio::test]
async fn what_looked_at_nothing_is_vacuous() {
    let empty = verdict(&Fake::default(), "bad/empty").await;
    assert_eq!(empty, Verdict::Vacuous(vec!["LH-FENCE-2 was not looked at".to_owned()]));
    assert_eq!((empty.word(), empty.is_red()), (Word::Vacuous, true));
    let never = verdict(&Fake::default(), "bad/never_fired").await;
    assert_eq!(never, Verdict::Vacuous(vec!["the reply was never lost".to_owned()]));
}

#[tokio::test]
async fn what_is_not_declared_is_unsupported_once_refused() {
    let harness = Fake { undeclared: true, ..Fake::default() };
    assert_eq!(verdict(&harness, "needs/limits").await, Verdict::Unsupported);
    assert_eq!(verdict(&Fake::default(), "needs/something_missing").await, Verdict::Inapplicable);
    assert!(matches!(verdict(&harness, "needs/something_missing").await, Verdict::Fail(_)));
    let case = SUITE.iter().find(|case| case.id == "needs/limits").expect("it is there");
    let world = harness.world(case).await.expect("a world");
    let unseen = Context::new(world, harness.profile(), &Settings::default()).end();
    let vacuous = Verdict::Vacuous(vec!["no refusal was seen".to_owned()]);
    assert_eq!(judged(case, Features::LIMITS, None, &unseen), vacuous);
    assert!(!Verdict::Unsupported.is_red() && !Verdict::Inapplicable.is_red());
}

#[tokio::test]
async fn what_wants_a_hook_is_incomplete() {
    let harness = Fake { no_clock: true, ..Fake::default() };
    let open = outcome(&harness, "good/pass").await;
    let why = "this world has no manual clock".to_owned();
    assert_eq!(open.verdict, Verdict::Incomplete { why, waived: None });
    assert_eq!((open.is_red(false), open.clock), (true, None));
    assert_eq!(verdict(&harness, "real/pass").await, Verdict::Pass);
    let why = "this world has no faults to plant".to_owned();
    let unplanted = verdict(&Fake::default(), "needs/faults").await;
    assert_eq!(unplanted, Verdict::Incomplete { why, waived: None });
}

#[tokio::test]
async fn a_fault_that_cannot_be_planted_makes_a_case_incomplete() {
    struct Bare;
    #[async_trait]
    impl Faults for Bare {}
    let error = Bare.raise_fence("q", 1).await.expect_err("it has no body");
    let Stop(why) = error.into();
    assert!(
        matches!(why, Why::Incomplete(why) if why == "this world has no way to raise the fence")
    );
}

#[tokio::test]
async fn the_lists_excuse_what_they_name_and_nothing_else() {
    let harness = Fake { lists: LISTS, ..Fake::default() };
    let known = verdict(&harness, "bad/fail").await;
    let Verdict::Known { reason, how } = &known else { panic!("{known:?}") };
    assert_eq!((reason.as_str(), how.word()), ("next release", Word::Fail));
    assert_eq!((known.word(), known.is_red()), (Word::Known, false));
    let waived = verdict(&harness, "needs/faults").await;
    assert!(matches!(&waived, Verdict::Incomplete { waived: Some(why), .. } if why == "no hook"));
    assert!(!waived.is_red());
    assert!(verdict(&harness, "bad/stop").await.is_red());
    assert!(verdict(&harness, "bad/empty").await.is_red());
}

#[tokio::test]
async fn a_pass_against_the_lists_is_red() {
    let harness = Fake { lists: LISTS, ..Fake::default() };
    for (id, says) in [("good/pass", "was broken once"), ("real/pass", "was open once")] {
        let unexpected = verdict(&harness, id).await;
        assert_eq!(unexpected, Verdict::Unexpected { reason: says.to_owned() });
        assert_eq!((unexpected.word(), unexpected.is_red()), (Word::Fail, true));
    }
}

#[tokio::test]
async fn a_provisional_case_binds_only_where_it_is_strict() {
    let fresh = outcome(&Fake::default(), "new/fail").await;
    assert_eq!(fresh.verdict.word(), Word::Fail);
    assert_eq!((fresh.is_red(false), fresh.is_red(true)), (false, true));
    let only = Settings::default().with_filter(Filter::all().with_id("new/"));
    assert!(run_suite(&Fake::default(), &only, SUITE).await.green);
    assert!(!run_suite(&Fake::default(), &only.with_strict(), SUITE).await.green);
}

#[tokio::test(start_paused = true)]
async fn a_report_counts_every_verdict_and_says_what_is_partial() {
    let harness = Fake { lists: LISTS, ..Fake::default() };
    let report = run_suite(&harness, &Settings::default(), SUITE).await;
    let want = "12 cases: 0 pass, 7 fail, 0 unsupported, 1 incomplete, 1 known, 2 vacuous, \
                1 inapplicable";
    assert_eq!(report.totals.to_string(), want);
    let text = report.to_string();
    assert_eq!(text.lines().last(), Some(format!("red, partial: {want}").as_str()), "{text}");
    assert_eq!(report.partial, ["1 incomplete, for want of a hook"]);
    let ids: Vec<_> = report.cases.iter().map(|case| case.id.as_str()).collect();
    assert_eq!(ids, SUITE.iter().map(|case| case.id).collect::<Vec<_>>());
    let clause = &report.clauses[0];
    assert_eq!((clause.id.as_str(), clause.verdict, clause.cases), ("LH-FENCE-2", Word::Fail, 12));
    assert_eq!(report.levels.iter().map(|level| level.totals.cases).sum::<usize>(), 12);
    assert_eq!(report.backend.clocks, ["manual", "real"]);
    assert!(report.backend.durability.is_some());
    let junit = report.to_junit().expect("it can be written");
    // What is red fails, 7 and 2 but for the provisional one; the known, the waived and the
    // provisional ones are neither.
    assert!(junit.contains("tests=\"12\" skipped=\"3\" failures=\"8\""), "{junit}");
    assert!(report.to_markdown().starts_with("**memory 9.9.9 does not keep the contract** 0.1"));
}

#[tokio::test]
async fn a_filtered_report_is_partial() {
    let only = Settings::default().with_filter(Filter::all().with_id("good/"));
    let report = run_suite(&Fake::default(), &only, SUITE).await;
    assert!(report.green);
    assert_eq!(report.partial, ["only ids with good/", "1 of 12 cases ran"]);
    assert!(report.to_string().ends_with("green, partial: 1 cases: 1 pass, 0 fail, 0 unsupported, 0 incomplete, 0 known, 0 vacuous, 0 inapplicable\n"));
    assert!(report.to_markdown().contains("no fault found, but the run is partial"));
}

#[tokio::test]
async fn what_cannot_start_is_a_red_report() {
    let problem = async |harness: Fake, id: &str| {
        let only = Settings::default().with_filter(Filter::all().with_id(id));
        let report = run_suite(&harness, &only, SUITE).await;
        assert!(!report.green);
        report.problems.join("; ")
    };
    let unknown = Fake { lists: "[[known]]\ncase = 'a/b'\nreason = 'c'", ..Fake::default() };
    assert!(problem(unknown, "good/").await.contains("a/b is no case of this suite"));
    let panics = Fake { panics: true, ..Fake::default() };
    assert_eq!(problem(panics, "good/").await, "the harness panicked: no profile today");
    assert_eq!(problem(Fake::default(), "nothing/").await, "no case ran");
}

#[tokio::test]
async fn a_failure_tells_everything_that_is_known_of_it() {
    let harness = Fake::default();
    let settings = Settings::default().with_seed(7);
    let plan = Plan::of(&harness, &settings, SUITE).expect("a sound harness");
    let case = SUITE.iter().find(|case| case.id == "bad/fail").expect("it is there");
    let failed = prove(&harness, case, &plan).await;
    let got = trace::explained(&failed, &plan, &trace::replay(&plan, case));
    let lines: Vec<_> = got.lines().map(str::trim_end).collect();
    let want = include_str!("failure.txt");
    let want = want.replace("CLAUSE", FENCE_2.text);
    assert_eq!(lines, want.lines().collect::<Vec<_>>(), "{got}");
}
