//! What takes several experiments to answer: the selftest, which checks verdicts where the truth is
//! known.

mod selftest;

pub use selftest::{
    Circumstances, Conclusion, Experiment, Intervention, SelfTest, Variant, selftest,
    selftest_json, selftest_text, synthetic, variants,
};
