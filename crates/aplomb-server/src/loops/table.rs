//! A shard's connections, by number.
//!
//! What always holds: a number is given once. Its low bits are the connection's place in the table,
//! the rest counts, so that an event or a reply for a connection that is gone finds nothing, even
//! when its place has been taken again.

use aplomb_broker::ports::{ConnectionId, ShardId};

use crate::net::connection::Connection;

/// Low bits of a number: the place.
const PLACE_BITS: u32 = 24;

/// All connections of a shard.
#[derive(Debug)]
pub(super) struct ConnectionTable {
    shard: ShardId,
    places: Vec<Option<Connection>>,
    free: Vec<usize>,
    serial: u64,
}

impl ConnectionTable {
    pub(super) fn new(shard: ShardId) -> Self {
        Self { shard, places: Vec::new(), free: Vec::new(), serial: 0 }
    }

    /// Puts the connection that `make` makes in a free place.
    pub(super) fn insert(&mut self, make: impl FnOnce(ConnectionId) -> Connection) -> &mut Connection {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() - 1
        });
        assert!(place < 1 << PLACE_BITS, "no process has so many descriptors");
        let number = self.serial << PLACE_BITS | place as u64;
        self.serial += 1;
        self.places[place].insert(make(ConnectionId { shard: self.shard, number }))
    }

    /// The connection of this number, unless it is gone.
    pub(super) fn get(&mut self, number: u64) -> Option<&mut Connection> {
        self.places.get_mut(place(number))?.as_mut().filter(|connection| connection.id().number == number)
    }

    /// Takes the connection of this number out.
    pub(super) fn remove(&mut self, number: u64) -> Option<Connection> {
        self.get(number)?;
        self.free.push(place(number));
        self.places[place(number)].take()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Connection> {
        self.places.iter_mut().flatten()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Connection> {
        self.places.iter().flatten()
    }
}

fn place(number: u64) -> usize {
    usize::try_from(number & ((1 << PLACE_BITS) - 1)).expect("a place is small")
}
