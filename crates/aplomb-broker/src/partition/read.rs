//! Reading: records, offsets, and waiting for more.

use aplomb_log::cold::{ColdRecords, TimeAnswer};
use aplomb_log::{Fetched, TimeFound};
use aplomb_model::{ErrorCode, Offset};
use bytes::Bytes;

use super::{ColdKind, ColdWish, Effects, Partition};
use crate::calls::{
    Answer, Asker, FindOffset, FoundOffset, ReadCall, ReadRecords, ReadRefusal, WantedOffset, Watch,
};
use crate::figures::Count;

impl Partition {
    pub(crate) fn read(&mut self, asker: Asker, call: ReadCall, fx: &mut Effects) {
        self.figures.add(Count::FetchRequests, 1);
        self.read_anew(asker, call, fx);
    }

    /// The log has moved, and with it the records that were asked of its old disk.
    pub(crate) fn read_anew(&mut self, asker: Asker, call: ReadCall, fx: &mut Effects) {
        match self.check_read(&call) {
            Ok(from) => self.read_from(from, asker, call, fx),
            Err(refusal) => fx.answer(asker, Answer::Read(Err(refusal))),
        }
    }

    /// Reads at an offset that is known to lie in the log.
    fn read_from(&mut self, from: Offset, asker: Asker, call: ReadCall, fx: &mut Effects) {
        if call.max_bytes == 0 {
            let nothing = self.records(Vec::new(), from, from, &call);
            return fx.answer(asker, Answer::Read(Ok(nothing)));
        }
        let upper = self.visible_end(call.committed_only);
        let answer = match self.log.fetch(from, call.max_bytes, upper, call.reader) {
            Fetched::Hot { slices, next } => self.records(slices, from, next, &call),
            Fetched::CaughtUp => self.records(Vec::new(), from, from, &call),
            Fetched::Cold(plan) => {
                let what = ColdKind::Read { plan: Box::new(plan), call };
                fx.cold.push(ColdWish { key: self.key, asker, what });
                return;
            }
            Fetched::NoMemory => {
                fx.cold.push(ColdWish { key: self.key, asker, what: ColdKind::Wait { call } });
                return;
            }
        };
        fx.answer(asker, Answer::Read(Ok(answer)));
    }

    /// What can be said of a read whose records are still to come from the disk.
    pub(crate) fn no_records_yet(&self, call: &ReadCall) -> ReadRecords {
        let nowhere = self.log.start();
        self.records(Vec::new(), nowhere, nowhere, call)
    }

    /// The disk has found records.
    pub(crate) fn on_cold_records(
        &mut self,
        segment: Offset,
        found: &ColdRecords,
        call: &ReadCall,
    ) -> ReadRecords {
        self.log.on_cold_read(segment, found);
        let from = Offset::from_wire(call.from).unwrap_or(self.log.start());
        self.records(vec![found.records.clone()], from, found.next, call)
    }

    /// The segment at `segment` has nothing (any more) at the offset that was read: goes on at its
    /// end as it was then, or says how the log looks now.
    pub(crate) fn read_on(
        &mut self,
        (segment, end): (Offset, Offset),
        asker: Asker,
        call: ReadCall,
        fx: &mut Effects,
    ) {
        if self.log.is_active(segment) {
            let nothing = self.no_records_yet(&call);
            return fx.answer(asker, Answer::Read(Ok(nothing)));
        }
        self.read_from(end, asker, call, fx);
    }

    fn records(&self, records: Vec<Bytes>, from: Offset, next: Offset, call: &ReadCall) -> ReadRecords {
        let aborted = if call.committed_only && next > from {
            let list = self.log.aborted_transactions(from, next);
            list.into_iter().map(|(producer, first)| (producer.to_wire(), first)).collect()
        } else {
            Vec::new()
        };
        ReadRecords {
            records,
            high_watermark: self.log.high_watermark(),
            last_stable: self.log.last_stable_offset(),
            log_start: self.log.start(),
            aborted,
            visible_end: self.visible_end(call.committed_only),
            seen: self.readers.visible(),
            figures: self.figures.clone(),
        }
    }

    fn visible_end(&self, committed_only: bool) -> Offset {
        if committed_only { self.log.last_stable_offset() } else { self.log.high_watermark() }
    }

    fn check_read(&self, call: &ReadCall) -> Result<Offset, ReadRefusal> {
        let log_start = Some(self.log.start());
        let error = |error| ReadRefusal::Error { error, log_start };
        self.check_epoch(call.current_epoch).map_err(error)?;
        if let Some(last) = call.last_fetched_epoch {
            let found = self.log.epochs().end_offset_for(last, self.log.end());
            let Some(found) = found else { return Err(error(ErrorCode::OffsetOutOfRange)) };
            if found.epoch < last || found.end.to_wire() < call.from {
                return Err(ReadRefusal::Diverging {
                    epoch: Some(found.epoch),
                    end: Some(found.end),
                    high_watermark: self.log.high_watermark(),
                    log_start: self.log.start(),
                });
            }
        }
        Offset::from_wire(call.from)
            .filter(|from| self.log.start() <= *from && *from <= self.log.end())
            .ok_or(error(ErrorCode::OffsetOutOfRange))
    }

    /// Says once what the watch is for.
    pub(crate) fn watch(&mut self, asker: Asker, watch: Watch, fx: &mut Effects) {
        // What happened between the read and this must not be missed.
        let moved = self.check_epoch(None).is_err() || self.log.start() > watch.start;
        let need = watch.seen.saturating_add(watch.more.max(1));
        assert!(watch.seen <= self.readers.visible(), "what was seen is of this log");
        if moved || need <= self.readers.visible() {
            fx.woken.push(asker);
        } else {
            self.readers.watch(asker, need);
        }
    }

    pub(crate) fn find_offset(&mut self, asker: Asker, find: FindOffset, fx: &mut Effects) {
        let answer = match self.check_epoch(find.current_epoch) {
            Err(error) => Err(error),
            Ok(()) => match find.wanted {
                WantedOffset::Latest => Ok(FoundOffset {
                    offset: Some(self.visible_end(find.committed_only)),
                    timestamp: None,
                    leader_epoch: Some(self.leader_epoch()),
                }),
                WantedOffset::Earliest => Ok(FoundOffset {
                    offset: Some(self.log.start()),
                    timestamp: None,
                    leader_epoch: self.log.epochs().epoch_of(self.log.start()),
                }),
                WantedOffset::Tiered => Ok(FoundOffset::NONE),
                WantedOffset::Time(wanted) => {
                    match self.log.find_time(wanted, self.visible_end(find.committed_only)) {
                        TimeFound::Hot(answer) => Ok(answer.into()),
                        TimeFound::Cold(lookup) => {
                            let what = ColdKind::Time { lookup, find };
                            fx.cold.push(ColdWish { key: self.key, asker, what });
                            return;
                        }
                    }
                }
            },
        };
        fx.answer(asker, Answer::Offset(answer));
    }

    /// Begins a lookup by time anew.
    pub(crate) fn find_again(&self, find: &FindOffset) -> TimeFound {
        match find.wanted {
            WantedOffset::Time(wanted) => self.log.find_time(wanted, self.visible_end(find.committed_only)),
            WantedOffset::Latest | WantedOffset::Earliest | WantedOffset::Tiered => TimeFound::Hot(None),
        }
    }

    /// The disk has nothing: what memory has is the answer.
    pub(crate) fn find_in_memory(&self, find: &FindOffset) -> FoundOffset {
        match find.wanted {
            WantedOffset::Time(wanted) => {
                self.log.find_time_in_tail(wanted, self.visible_end(find.committed_only)).into()
            }
            WantedOffset::Latest | WantedOffset::Earliest | WantedOffset::Tiered => FoundOffset::NONE,
        }
    }
}

impl FoundOffset {
    /// There is no such record.
    pub(crate) const NONE: Self = Self { offset: None, timestamp: None, leader_epoch: None };
}

impl From<Option<TimeAnswer>> for FoundOffset {
    fn from(answer: Option<TimeAnswer>) -> Self {
        answer.map_or(Self::NONE, |answer| Self {
            offset: Some(answer.offset),
            timestamp: Some(answer.timestamp),
            leader_epoch: answer.leader_epoch,
        })
    }
}
