//! Rows and bytes go when their time is over, and nothing that anybody still needs goes with them.

mod collecting;
mod histories;
mod house;
mod programs;
mod references;
mod shrinking;
