//! One rule a file: evidence in, a finding or nothing out.
//!
//! What always holds: a rule looks at evidence alone and not at other rules; which finding is a
//! part of which is said by the finding and settled by `weigh`.

mod cgroup_reclaim;
mod clock_step;
mod cold_metadata;
mod cold_read;
mod compaction;
mod cpu_quota;
mod cpu_starvation;
mod dirty_limit;
mod disk_lost;
mod freeze;
mod gc_log;
mod inode_lock;
mod journal;
mod long_gc;
mod memory_compaction;
mod munmap;
mod network;
mod network_thread;
mod own_log;
mod page_fault;
mod quota;
mod recovery;
mod roll;
mod slow_consumer;
mod swap;
mod vm_operation;

use super::evidence::Evidence;
use super::finding::{Finding, time};
use crate::recording::Role;

type Rule = fn(&Evidence<'_>) -> Option<Finding>;

/// All rules. Their order decides nothing.
const ALL: &[Rule] = &[
    cgroup_reclaim::rule,
    clock_step::rule,
    cold_metadata::rule,
    cold_read::rule,
    compaction::rule,
    cpu_quota::rule,
    cpu_starvation::rule,
    dirty_limit::rule,
    disk_lost::rule,
    freeze::rule,
    gc_log::rule,
    inode_lock::rule,
    journal::rule,
    long_gc::rule,
    memory_compaction::rule,
    munmap::rule,
    network::rule,
    network_thread::rule,
    own_log::rule,
    page_fault::rule,
    quota::rule,
    recovery::rule,
    roll::rule,
    slow_consumer::rule,
    swap::rule,
    vm_operation::rule,
];

/// What all rules find.
pub(super) fn all(evidence: &Evidence<'_>) -> Vec<Finding> {
    ALL.iter().filter_map(|rule| rule(evidence)).filter(|finding| !finding.explained.is_empty()).collect()
}

/// What was seen and is no cause by itself.
pub(super) fn observations(evidence: &Evidence<'_>) -> Vec<String> {
    let mut said = Vec::new();
    for device in &evidence.recording.devices {
        let frozen = evidence.frozen(device);
        if !frozen.is_empty() {
            let requests = evidence.waits(|seen| seen.carries_requests()).spans().within(&frozen);
            let who = if requests.is_empty() {
                "no thread that carries requests waited meanwhile".to_owned()
            } else {
                format!("threads that carry requests waited for {} of that", time(requests.total_ms()))
            };
            said.push(format!(
                "{} ({}) answered nothing for {} in all, {} at the longest; {who}",
                device.name,
                device.number,
                time(frozen.total_ms()),
                time(frozen.longest_ms()),
            ));
        }
    }
    let disk = evidence.waits(|seen| seen.role() == Role::Disk);
    if !disk.is_empty() {
        said.push(format!(
            "threads that are there to wait for disks did so for {}, which is what they are for",
            time(disk.spans().total_ms())
        ));
    }
    said
}
