internal import Host
internal import Store

/// Which worker holds each seat, as the lock files say. Epochs are random: two that differ are two workers,
/// but do not tell which is the later one.
struct SeatLocks: Sendable {
    let runDirectory: RunDirectory

    /// Whether another worker than the one of this epoch has signed the lock. False where it was never
    /// signed.
    func isTaken(_ seat: Int, from epoch: Int64) -> Bool {
        TextFile.read(runDirectory.lock(.seat(seat))).map { $0 != "\(epoch)\n" } ?? false
    }

    /// Sessions of dead workers that held the seat before this one. Empty where a later worker, which may
    /// live, has taken the seat.
    func dead(before epoch: Int64, seat: Int, in store: any CommandStore) throws(StoreError) -> [Session] {
        // In this order: a worker that signs after the sessions were read has none among them.
        let others = try store.sessions().filter { $0.seat == seat && $0.epoch != epoch }
        return isTaken(seat, from: epoch) ? [] : others
    }
}
