//! The processes of a job: its first one and all that come from it, however they were started.

use std::collections::{BTreeMap, BTreeSet};

use crate::stat::{Stat, pids, stat};

/// After so many looks processes of others are looked at again: their pids may have come to be ours.
const STRANGERS_LOOKS: u32 = 60;

/// Who belongs to the job.
#[derive(Debug)]
pub(super) struct Family {
    root: u32,
    /// Whoever gets the children of processes that have ended.
    adopter: Option<u32>,
    /// By pid, when it was started.
    members: BTreeMap<u32, u64>,
    /// Pids that are none of ours, so that nobody asks for them every second.
    strangers: BTreeSet<u32>,
    looks: u32,
}

/// What a look at the family shows.
#[derive(Debug, Default)]
pub(super) struct Look {
    /// Those that run, each with whether it is new.
    pub(super) running: Vec<(Stat, bool)>,
    /// Those that have ended: with their `stat` where nobody has asked for their end yet.
    pub(super) ended: Vec<(u32, Option<Stat>)>,
}

impl Family {
    pub(super) fn new(root: u32) -> Self {
        Self { root, adopter: None, members: BTreeMap::new(), strangers: BTreeSet::new(), looks: 0 }
    }

    /// Counts every child of a process as one of the job.
    pub(super) fn adopt(&mut self, adopter: u32) {
        self.adopter = Some(adopter);
    }

    /// The process the job began with.
    pub(super) fn root(&self) -> u32 {
        self.root
    }

    /// Looks who is there.
    pub(super) fn look(&mut self) -> Look {
        let mut look = Look::default();
        for (pid, start_ticks) in std::mem::take(&mut self.members) {
            match stat(pid).filter(|stat| stat.start_ticks == start_ticks) {
                Some(stat) if !stat.is_ended => {
                    self.members.insert(pid, start_ticks);
                    look.running.push((stat, false));
                }
                last => look.ended.push((pid, last)),
            }
        }
        for stat in self.arrived() {
            self.members.insert(stat.pid, stat.start_ticks);
            look.running.push((stat, true));
        }
        look
    }

    /// Processes that were not there at the last look and come from one that was, or from one another.
    fn arrived(&mut self) -> Vec<Stat> {
        self.looks += 1;
        let pids: BTreeSet<u32> = pids().into_iter().collect();
        if self.looks.is_multiple_of(STRANGERS_LOOKS) {
            self.strangers.clear();
        }
        self.strangers.retain(|pid| pids.contains(pid));
        let unknown = pids.into_iter().filter(|pid| !self.members.contains_key(pid) && !self.strangers.contains(pid));
        let mut candidates: Vec<Stat> = unknown.filter_map(stat).collect();
        let mut arrived: Vec<Stat> = Vec::new();
        loop {
            let is_ours = |stat: &Stat| {
                let parent = stat.parent;
                let is_child = self.members.contains_key(&parent) || arrived.iter().any(|other| other.pid == parent);
                stat.pid == self.root || is_child || self.adopter == Some(parent)
            };
            let (ours, others): (Vec<Stat>, Vec<Stat>) = candidates.into_iter().partition(is_ours);
            candidates = others;
            if ours.is_empty() {
                break;
            }
            arrived.extend(ours);
        }
        self.strangers.extend(candidates.iter().map(|stat| stat.pid));
        arrived.retain(|stat| !stat.is_ended);
        arrived
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};
    use std::time::Duration;

    use super::*;

    fn shell(script: &str) -> Child {
        Command::new("sh").args(["-c", script]).stdout(Stdio::null()).spawn().expect("there is a shell")
    }

    fn running(family: &mut Family) -> usize {
        family.look().running.len()
    }

    #[test]
    fn children_of_children_belong_to_the_job_and_strangers_do_not() {
        let mut stranger = shell("exec sleep 60");
        let mut root = shell("sh -c 'sleep 60 & wait' & sleep 60 & wait");
        let mut family = Family::new(root.id());
        let all = (0..200).find(|_| {
            std::thread::sleep(Duration::from_millis(10));
            running(&mut family) == 4
        });
        assert!(all.is_some(), "a shell, its shell, and two sleepers: {:?}", family.members);
        assert!(!family.members.contains_key(&stranger.id()));

        root.kill().expect("it runs");
        root.wait().expect("it ends");
        let look = family.look();
        assert_eq!(look.ended.iter().map(|(pid, _)| *pid).collect::<Vec<_>>(), [root.id()]);
        assert_eq!(look.running.len(), 3, "who was of the job stays of the job");
        for (stat, _) in look.running {
            let _ = nix::sys::signal::kill(
                nix::unistd::Pid::from_raw(stat.pid.cast_signed()),
                nix::sys::signal::Signal::SIGKILL,
            );
        }
        stranger.kill().expect("it runs");
        stranger.wait().expect("it ends");
    }
}
