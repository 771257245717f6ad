//! What the kernel says of the process, from `/proc`: under the names that Prometheus clients use,
//! and what it read and wrote under Kafka's (`linux-disk-read-bytes`). Read by the metrics page's
//! threads.
//!
//! What always holds: a file that cannot be read leaves its figures out and disturbs nobody.

use aplomb_server::metrics::{Kind, Labels, Page};

/// Puts the figures on the page.
pub(super) fn put_on(page: &mut Page) {
    put_stat(page);
    put_descriptors(page);
    put_io(page);
}

/// `/proc/self/stat` (proc(5)): fields are counted from 1, and the second one, in parentheses, may
/// have blanks in it.
fn put_stat(page: &mut Page) {
    let Ok(text) = std::fs::read_to_string("/proc/self/stat") else { return };
    let Some((_, rest)) = text.rsplit_once(')') else { return };
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).and_then(|text| text.parse::<f64>().ok());
    let ticks = rustix::param::clock_ticks_per_second() as f64;
    let page_size = rustix::param::page_size() as f64;
    if let (Some(user), Some(system)) = (field(14), field(15)) {
        let help = "Processor time used.";
        page.samples("process_cpu_seconds_total", Kind::Counter, help)
            .put(&Labels::NONE, (user + system) / ticks);
    }
    if let Some(threads) = field(20) {
        page.gauge("process_threads", "Threads.", &[], threads);
    }
    if let (Some(started), Some(boot)) = (field(22), boot_time()) {
        let help = "When the process was started, in seconds since 1970.";
        page.gauge("process_start_time_seconds", help, &[], boot + started / ticks);
    }
    if let Some(bytes) = field(23) {
        page.gauge("process_virtual_memory_bytes", "Size of the address space.", &[], bytes);
    }
    if let Some(pages) = field(24) {
        let help = "Memory in use, the tail included.";
        page.gauge("process_resident_memory_bytes", help, &[], pages * page_size);
    }
}

fn boot_time() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

fn put_descriptors(page: &mut Page) {
    if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
        page.gauge("process_open_fds", "Open descriptors.", &[], open.count() as f64);
    }
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    if let Some(limit) = limit {
        page.gauge("process_max_fds", "Descriptors that may be open.", &[], limit as f64);
    }
}

fn put_io(page: &mut Page) {
    let Ok(text) = std::fs::read_to_string("/proc/self/io") else { return };
    for (field, name, help) in [
        ("read_bytes: ", "kafka_server_kafkaserver_linux_disk_read_bytes", "Bytes read from disks."),
        ("write_bytes: ", "kafka_server_kafkaserver_linux_disk_write_bytes", "Bytes written to disks."),
    ] {
        let value = text.lines().find_map(|line| line.strip_prefix(field)).and_then(|text| text.parse().ok());
        if let Some(bytes) = value {
            page.gauge(name, help, &[], bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_this_process_are_there_and_plausible() {
        let mut page = Page::default();
        put_on(&mut page);
        let page = page.finish();
        let value = |name: &str| -> f64 {
            let line =
                page.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("no {name}"));
            line.trim().parse().unwrap_or_else(|error| panic!("{name}{line}: {error}"))
        };
        assert!(value("process_resident_memory_bytes ") > 1e5);
        assert!(value("process_open_fds ") >= 3.0);
        assert!(value("process_threads ") >= 1.0);
        assert!(value("process_start_time_seconds ") > 1.6e9);
        assert!(value("process_cpu_seconds_total ") >= 0.0);
        assert!(value("kafka_server_kafkaserver_linux_disk_write_bytes ") >= 0.0);
    }
}
