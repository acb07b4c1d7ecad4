internal import Store

/// Who sits where, as the lock files of the seats say. Epochs are random: they tell who is another, not who came later.
struct SeatLocks: Sendable {
    /// Of the data directory.
    let runDirectory: String

    func path(_ seat: Int) -> String { "\(runDirectory)/seat-\(seat < 10 ? "0" : "")\(seat).lock" }

    /// Another worker has taken the seat since. False where nobody has signed it.
    func isTaken(_ seat: Int, from epoch: Int64) -> Bool {
        ProcessIdentity.contents(of: path(seat)).map { $0 != "\(epoch)\n" } ?? false
    }

    /// Sessions of those who sat there before this one; none where another, who may live, has taken the seat since.
    func dead(before epoch: Int64, seat: Int, in store: any CommandStore) throws(StoreError) -> [Session] {
        // In this order: who signs after the sessions were read has none among them.
        let others = try store.sessions().filter { $0.seat == seat && $0.epoch != epoch }
        return isTaken(seat, from: epoch) ? [] : others
    }
}
