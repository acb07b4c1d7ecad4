internal import Host
internal import Store

/// Who sits where, as the lock files of the seats say. Epochs are random: they tell who is another, not who came later.
struct SeatLocks: Sendable {
    let runDirectory: RunDirectory

    /// Another worker has taken the seat since. False where nobody has signed it.
    func isTaken(_ seat: Int, from epoch: Int64) -> Bool {
        TextFile.read(runDirectory.lock(.seat(seat))).map { $0 != "\(epoch)\n" } ?? false
    }

    /// Sessions of those who sat there before this one; none where another, who may live, has taken the seat since.
    func dead(before epoch: Int64, seat: Int, in store: any CommandStore) throws(StoreError) -> [Session] {
        // In this order: who signs after the sessions were read has none among them.
        let others = try store.sessions().filter { $0.seat == seat && $0.epoch != epoch }
        return isTaken(seat, from: epoch) ? [] : others
    }
}
