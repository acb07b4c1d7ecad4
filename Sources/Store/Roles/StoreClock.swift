package import Commands

/// The clock of a store. Each time that a call writes into the store is a time of this clock, and a time in the store is
/// compared with no other clock.
///
/// All processes that share a store need the same time. A store in files has the wall clock of its machine
/// (``MachineClock``). A store on a server answers with the server's clock.
package protocol StoreClock: Sendable {
    /// The time now. A call to the store reads it once.
    func now() -> Timestamp
    /// Whether this is the wall clock of this machine, which its monotonic clock can check.
    ///
    /// Where it is, a jump of the wall clock is a jump of the store's time: the ends of backoffs are moved along, and ages
    /// and deadlines are not trusted for some minutes (``ClockHold``). Where it is not, a jump or a suspend of this machine
    /// changes no time of the store.
    var followsThisMachine: Bool { get }
}

/// The wall clock of this machine.
package struct MachineClock: StoreClock {
    package init() {}

    package func now() -> Timestamp { Timestamp.now }

    package var followsThisMachine: Bool { true }
}
